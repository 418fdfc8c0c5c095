// Package sealtest gives the tests of a package a key of their own, so that
// they neither need nor make one of the person who runs them.
package sealtest

import (
	"fmt"
	"os"
	"testing"
)

// variable is where package seal looks first.
const variable = "XDG_STATE_HOME"

// Main is m.Run with a state folder that is gone afterwards.
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

// Env is the entry of the environment by which a program that a test starts
// finds the key of this process.
func Env() string { return variable + "=" + os.Getenv(variable) }
