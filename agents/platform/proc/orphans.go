package proc

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// StartDetached starts a program that outlives this process and does not belong to the
// Spawner.
func (s *Spawner) StartDetached(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	s.detached[cmd.Process.Pid] = true
	return nil
}

// EndOrphans ends processes that the Spawner's programs left without other proof: with
// their own session and environment, and with parents that have ended. This process, the
// subreaper of its programs, has adopted them. Call it when no program runs any more. It
// returns what it ended.
//
// If this process cannot tell them from other processes (it is the first process of a
// container, or had children before it had a Spawner), it ends nothing.
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

// soleOwner reports whether every child of this process in a session of its own, now and
// later, comes from its Spawner.
func soleOwner() bool {
	if os.Getpid() == 1 {
		return false // it adopts all orphans of the container
	}
	n, err := childrenNow()
	return err == nil && n == 0
}
