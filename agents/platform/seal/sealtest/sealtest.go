// Package sealtest gives the tests of a package their own key, so that they neither need
// nor create the key of the user who runs them.
package sealtest

import (
	"fmt"
	"os"
	"testing"
)

// variable is the first variable that package seal reads.
const variable = "XDG_STATE_HOME"

// Main is m.Run with a state folder that is removed afterwards.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cmux-state")
	if err == nil {
		err = os.Setenv(variable, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// Env returns the environment entry with which a program started by a test finds the key of
// this process.
func Env() string { return variable + "=" + os.Getenv(variable) }
