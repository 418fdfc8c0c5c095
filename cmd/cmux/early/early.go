// Package early spares the calls that programs make what only people need.
//
// The clipboard of the forms that people fill in looks for five programs in
// every folder of PATH when a process starts. In a hook that is most of the
// time where PATH is long, and far more than all else on WSL, where it holds
// folders of Windows. So PATH is hidden until all packages are initialised:
// this package imports only os, and its path sorts before those of other
// modules, so Go runs its init before theirs (packages whose imports are ready
// are initialised in order of their paths).
package early

import "os"

var (
	path   string
	hidden bool
)

func init() {
	if byProgram(os.Args) {
		if path, hidden = os.LookupEnv("PATH"); hidden {
			os.Unsetenv("PATH")
		}
	}
}

// byProgram reports whether a command line of cmux is one that agents, their
// programs and cmux itself use.
func byProgram(args []string) bool {
	if len(args) < 3 {
		return false
	}
	switch args[1] {
	case "hook", "done", "blocked", "output":
		return true
	}
	return args[1] == "agents" && args[2] == "exec"
}

// Restore puts PATH back. It is for the init function of the program.
func Restore() {
	if hidden {
		os.Setenv("PATH", path)
		hidden = false
	}
}
