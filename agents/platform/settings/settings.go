// Package settings is what a person sets for all their runs, of all projects: a
// file beside their tmux configuration.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cmux/dag"
)

// maxFile bounds a file that is read.
const maxFile = 1 << 20

// Path is where the file is, be it there or not.
func Path() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) { // a relative one is to be ignored
		return filepath.Join(dir, "cmux", "config.yml"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("your configuration is $XDG_CONFIG_HOME/cmux/config.yml or ~/.config/cmux/config.yml, and neither HOME nor XDG_CONFIG_HOME is set")
	}
	return filepath.Join(home, ".config", "cmux", "config.yml"), nil
}

// Shown is Path as anybody may read it, without the name of the person's home.
func Shown() string {
	if filepath.IsAbs(os.Getenv("XDG_CONFIG_HOME")) {
		return "$XDG_CONFIG_HOME/cmux/config.yml"
	}
	return "~/.config/cmux/config.yml"
}

// Read is what the file says; where there is none, nothing. The error is of type
// dag.Faults where the file is wrong.
func Read() (dag.User, error) {
	path, err := Path()
	if err != nil {
		return dag.User{}, nil // nobody has written one
	}
	info, err := os.Stat(path) // it may be a link: people keep such files elsewhere
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dag.User{}, nil
	case err != nil:
		return dag.User{}, err
	case !info.Mode().IsRegular():
		return dag.User{}, fmt.Errorf("%s is no regular file", path)
	case info.Size() > maxFile:
		return dag.User{}, fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), maxFile)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return dag.User{}, err
	}
	return dag.ParseUser(path, src)
}
