package proc

import (
	"context"
	"os"
	"slices"
	"syscall"
)

// Abandoned returns this user's processes that have outlived the process that started them.
// starter reads from a command line and its environment when that process had started, as
// [StartTime] counts; 0: unknown. ok is false for any other program. Abandoned leaves out
// the caller's ancestors, and session leaders, such as servers.
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
			continue // a fork that has not called exec yet
		}
		gone := st.ppid <= 1 // adopted by the first process
		if start != 0 && known {
			gone = parent.start != start
		}
		if gone {
			found = append(found, st.process())
		}
	}
	return found, nil
}

// Kill kills these processes and waits a bounded time until they are gone.
func Kill(ctx context.Context, ps []Process) { signalAndWait(ctx, ps, syscall.SIGKILL, killWait) }
