package fence

import "os/exec"

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
	led := func(paths []string) (all []string) { // Seatbelt compares the names that links lead to
		for _, path := range paths {
			all = append(all, real(path))
		}
		return all
	}
	args := append([]string{seatbelt, "-p", profile(led(f.Write), led(f.Hide), led(f.shown())), cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Args = seatbelt, args
	return nil
}
