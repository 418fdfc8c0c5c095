// Package settings reads a person's own configuration, for all their runs of all projects.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFile bounds the size of the file.
const maxFile = 1 << 20

// Path returns the path of the file; the file need not exist.
func Path() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) { // the XDG specification says to ignore relative paths
		return filepath.Join(dir, "cmux", "config.yml"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("your configuration is $XDG_CONFIG_HOME/cmux/config.yml or ~/.config/cmux/config.yml, and neither HOME nor XDG_CONFIG_HOME is set")
	}
	return filepath.Join(home, ".config", "cmux", "config.yml"), nil
}

// Shown returns Path for display, without the name of the person's home.
func Shown() string {
	if filepath.IsAbs(os.Getenv("XDG_CONFIG_HOME")) {
		return "$XDG_CONFIG_HOME/cmux/config.yml"
	}
	return "~/.config/cmux/config.yml"
}

// Read returns the content of the file; if there is no file, the zero value. The error is
// of type keys.Faults if the content is wrong.
func Read() (User, error) {
	path, err := Path()
	if err != nil {
		return User{}, nil // the file is optional
	}
	info, err := os.Stat(path) // links are allowed: people keep such files elsewhere
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return User{}, nil
	case err != nil:
		return User{}, err
	case !info.Mode().IsRegular():
		return User{}, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxFile:
		return User{}, fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), maxFile)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return User{}, err
	}
	return Parse(path, src)
}
