package agent

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"cmux/signals"
)

// LookPath finds a program in the PATH of env, not in that of this process.
func LookPath(name string, env []string) (string, error) {
	for _, e := range env {
		path, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if file, err := exec.LookPath(filepath.Join(dir, name)); dir != "" && err == nil {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

// maxArgument is how much of a task goes by argument: Linux allows 128 KB for
// one, whatever the others hold.
const maxArgument = 100 << 10

// Shell is the sh command that runs a script byte for byte. A script too long
// for one argument is left in file and run from there.
func Shell(script, file string) (*exec.Cmd, error) {
	if len(script) <= maxArgument {
		// Without -- a script that begins with a dash is an option to some shells.
		return exec.Command("/bin/sh", "-c", "--", script), nil
	}
	if err := signals.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	if err := signals.PutFile(file, []byte(script), 0o600); err != nil {
		return nil, err
	}
	return exec.Command("/bin/sh", file), nil
}
