package proc

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// StartDetached starts a program that outlives this process and is none of the
// Spawner's: what comes of it is its own.
func (s *Spawner) StartDetached(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.detached[cmd.Process.Pid] = true
	return nil
}

// EndOrphans ends what the Spawner's programs left running without any other
// proof: processes in a session of their own, with an environment of their own,
// whose parents have gone. They have fallen to this process, the subreaper of
// its programs, and whatever hangs from them is theirs. It is for the moment at
// which no program runs any more, and returns what it ended.
//
// Where this process cannot tell them from others' (it is the first of a
// container, or had children before it had a Spawner) it ends nothing.
func (s *Spawner) EndOrphans(ctx context.Context, grace time.Duration) ([]Process, error) {
	if !s.sole {
		return nil, nil
	}
	return end(ctx, grace, func() ([]Process, error) {
		roots, err := s.orphans()
		if err != nil || len(roots) == 0 {
			return nil, err
		}
		return prove(func(st stat) bool { return roots[Identity{st.pid, st.start}] })
	}, s.reap)
}

// soleOwner reports whether every child in a session of its own that this
// process will ever have comes from its Spawner.
func soleOwner() bool {
	if os.Getpid() == 1 {
		return false // what is orphaned in the whole container falls to it
	}
	n, err := childrenNow()
	return err == nil && n == 0
}
