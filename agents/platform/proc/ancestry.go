package proc

import (
	"os"
	"strings"
)

// Ancestor is the calling process or one of its ancestors.
type Ancestor struct {
	Process
	Attempt string   // RUN/NODE/N, if its environment has the mark of an attempt
	Args    []string // its command line
	Dir     string   // its working directory, if the system reports it
}

// Ancestry returns the calling process, its parent, and so on. A process whose parent has
// ended descends from the process that adopted it: if a Spawner started it, from that
// Spawner's process, however it was detached (setsid, a double fork, an emptied
// environment). The list ends at the first process that is gone.
func Ancestry() ([]Ancestor, error) {
	line, err := lineage(caller())
	if err == nil && line[0].Attempt == "" {
		line[0].Attempt = os.Getenv(AttemptVar)
	}
	return line, err
}

// AncestryOf is Ancestry for another process; ErrGone if that has ended.
func AncestryOf(pid int) ([]Ancestor, error) { return lineage(pid) }

// lineage returns the process pid, its parent, and so on.
func lineage(pid int) ([]Ancestor, error) {
	var line []Ancestor
	seen := map[int]bool{}
	for pid > 0 && !seen[pid] {
		seen[pid] = true
		st, err := statOf(pid)
		if err != nil {
			if len(line) == 0 {
				return nil, err
			}
			// It ended after its child was read, and its parent has collected it.
			child, cerr := statOf(line[len(line)-1].PID)
			if cerr != nil || seen[child.ppid] {
				break
			}
			pid = child.ppid
			continue
		}
		a := Ancestor{Process: st.process(), Attempt: variable(pid, AttemptVar), Args: arguments(pid), Dir: workingDir(pid)}
		line = append(line, a)
		pid = st.ppid
	}
	if len(line) == 0 {
		return nil, ErrGone
	}
	return line, nil
}

// variable returns the value of an environment variable with which the process was started.
func variable(pid int, name string) string {
	for entry := range strings.SplitSeq(string(environment(pid)), "\x00") {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
