package proc

import (
	"context"
	"os"
	"slices"
	"syscall"
)

// Abandoned are this user's processes that have outlived the one that started
// them. starter tells from a command line, and the environment that goes with
// it, when that one had started, as [StartTime] counts, 0 where it is not known;
// ok is false for any other program. The caller's ancestors, and what leads a session of its own, as a
// server does, are none.
func Abandoned(starter func(args []string, getenv func(string) string) (start uint64, ok bool)) ([]Process, error) {
	table, err := processes()
	if err != nil {
		return nil, err
	}
	byPID := make(map[int]stat, len(table))
	for _, st := range table {
		byPID[st.pid] = st
	}
	mine := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !mine[pid]; pid = byPID[pid].ppid {
		mine[pid] = true
	}
	var found []Process
	for _, st := range table {
		if st.zombie || st.session == st.pid || mine[st.pid] {
			continue
		}
		getenv := func(name string) string { return variable(st.pid, name) }
		args := arguments(st.pid)
		start, ok := starter(args, getenv)
		if !ok || !own(st.pid) {
			continue
		}
		parent, known := byPID[st.ppid]
		if known && slices.Equal(args, arguments(parent.pid)) {
			continue // its parent's own, which has not become another program yet
		}
		gone := st.ppid <= 1 // handed on to the first process of all
		if start != 0 && known {
			gone = parent.start != start
		}
		if gone {
			found = append(found, st.process())
		}
	}
	return found, nil
}

// Kill ends these processes and waits until they are gone, within a bound.
func Kill(ctx context.Context, ps []Process) { signalAndWait(ctx, ps, syscall.SIGKILL, killWait) }
