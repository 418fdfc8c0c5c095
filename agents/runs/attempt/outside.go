package attempt

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/kinds/rights"
)

const (
	// orderOutput bounds what an order prints.
	orderOutput = 16 << 20
	// orderGrace is what an order has to end by itself when nobody waits for it any more.
	orderGrace = 5 * time.Second
)

// outside carries out what a standing agent in a fence orders.
type outside struct {
	ctx    context.Context // over at the end of the attempt
	end    context.CancelFunc
	under  sync.WaitGroup
	env    []string // of the agent's programs, outside of the fence; nil: there is no fence
	rights rights.Holder
	binary string // cmux
	root   string // of the project
}

// close ends what is under way.
func (o *outside) close() {
	o.end()
	o.under.Wait()
}

// carryOut carries out a command of cmux that the agent gives, outside of its fence, where
// it can write what belongs to cmux. The agent is still who gives it: the command runs below
// this process, and with the agent's mark. No such command names a file or a program.
func (o *outside) carryOut(m *Message, reply *Reply) {
	words := slices.DeleteFunc(slices.Clone(m.Words), func(w string) bool { return strings.HasPrefix(w, LockOption+"=") })
	if o.env == nil || !o.rights.Carries(words) {
		reply.Inside = true
		return
	}
	held := m.detach()
	ctx, cancel := context.WithCancel(o.ctx)
	cmd := exec.CommandContext(ctx, o.binary, m.Words...)
	cmd.Dir, cmd.Env, cmd.Stdin = o.root, o.env, strings.NewReader(m.Text)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, orderGrace
	var out, said capped
	cmd.Stdout, cmd.Stderr = &out, &said
	o.under.Go(func() {
		defer cancel()
		o.under.Go(func() {
			select {
			case <-held.gone: // nil: nobody says
			case <-ctx.Done():
			}
			cancel()
		})
		var r Reply
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			r.Error = err.Error()
		} else {
			r.Stdout, r.Text, r.Exit = out.String(), said.String(), cmd.ProcessState.ExitCode()
		}
		_ = held.answer(r)
	})
}

// LockOption is the option of `cmux locks take` that names the process with which the lock
// ends.
const LockOption = "--process"

// capped keeps the beginning of what is written to it.
type capped struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.b.Write(p[:min(len(p), orderOutput-c.b.Len())])
	return len(p), nil
}

func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b.String()
}
