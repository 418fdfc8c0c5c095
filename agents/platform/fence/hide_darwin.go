package fence

import "os/exec"

// Hides returns how this system hides places, for people, or ErrShown.
func Hides() (string, error) { return Support() }

// Plain restricts nothing: this system cannot keep a program from following links.
func Plain(*exec.Cmd, ...string) error { return nil }
