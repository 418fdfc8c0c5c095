package fence

import (
	"os/exec"
	"path/filepath"
)

// seatbelt starts a program under a profile. It is part of macOS.
const seatbelt = "/usr/bin/sandbox-exec"

// Support returns which fence this system has, for people, or ErrMissing.
func Support() (string, error) {
	if _, err := exec.LookPath(seatbelt); err != nil {
		return "", missing("there is no %s", seatbelt)
	}
	return "Seatbelt", nil
}

// Confine has cmd start behind the fence.
func (f *Fence) Confine(cmd *exec.Cmd) error {
	if _, err := Support(); err != nil {
		return err
	}
	var real []string // Seatbelt compares the names that links lead to
	for _, path := range f.Write {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			path = resolved
		}
		real = append(real, path)
	}
	args := append([]string{seatbelt, "-p", profile(real), cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Args = seatbelt, args
	return nil
}
