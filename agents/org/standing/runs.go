package standing

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"cmux/agents/platform/harmless"
	"cmux/agents/runs/run"
)

// What outlives an agent is not started from it: a run that it orders is started
// by the keeper, in the organization's environment. The run says itself what
// becomes of it, to whoever ordered it.

// startPatience bounds how long a run may take to start.
const startPatience = time.Minute

// ordering is a run that is being started.
type ordering struct {
	over bool
	said string
	err  error
}

// orderRun starts a run, once: one that the keeper before this one has started is
// known by its request.
func (k *Keeper) orderRun(ctx context.Context, q run.Request, ask Ask) (done, error) {
	if ask.Run == nil {
		return refuse("a run without an order"), nil
	}
	if ask.By != "" && k.org.Settings.Permissions != PermitAll {
		return refuse("a graph can hold commands and agents that ask nothing, which those of this organization may not do (permissions: %s): a person starts the run. Tell them: cmux mailbox send user", k.org.Settings.Permissions), nil
	}
	if a := k.org.Agents[ask.By]; a != nil && k.org.fenced(a) {
		return refuse("a graph can hold commands that run in no fence, and %s works in one: a person starts the run. Tell them: cmux mailbox send user", a.Name), nil
	}
	o := k.orders[q.ID]
	if o == nil {
		made, err := k.ordered(q.ID)
		if made != nil || err != nil {
			return done{over: made != nil, made: made}, err
		}
		argv, env, err := k.startRun(q, ask)
		if err != nil {
			return done{}, err
		}
		o = new(ordering)
		k.orders[q.ID] = o
		root := k.org.Root()
		k.tasks.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, startPatience)
			defer cancel()
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Dir, cmd.Env, cmd.WaitDelay = root, env, time.Second
			out, err := cmd.CombinedOutput()
			select {
			case k.started <- startedRun{q.ID, string(out), err}:
			case <-ctx.Done():
			}
		})
	}
	if !o.over {
		return done{}, nil
	}
	delete(k.orders, q.ID)
	said := harmless.Text(strings.TrimSpace(o.said))
	if o.err != nil {
		if said == "" {
			said = o.err.Error()
		}
		return done{over: true, refused: errors.New(said)}, nil
	}
	made, err := k.ordered(q.ID)
	if made == nil {
		made = new(RunMade) // another run was resumed, or nothing has changed
	}
	made.Said = said
	return done{over: err == nil, made: made}, err
}

// startedRun is the result of starting a run.
type startedRun struct {
	id   string // of the request
	said string
	err  error
}

// startRun is the command that starts a run, and its environment.
func (k *Keeper) startRun(q run.Request, ask Ask) (argv, env []string, err error) {
	if env, err = k.org.Run.Env(); err != nil {
		return nil, nil, err
	}
	if _, err := k.org.Run.ProveBin(); err != nil {
		return nil, nil, err
	}
	env = append(env, "CMUX_HOME="+k.org.Root())
	if s := k.org.Run.Plan.Socket; s != "" {
		env = append(env, "CMUX_TMUX_SOCKET="+s)
	}
	argv = []string{k.org.Run.Binary(), "agents", "start", "--yes", "--detach", "--order=" + q.ID}
	for _, o := range []struct {
		flag, value string
	}{{"by", ask.By}, {"config", ask.Run.Config}, {"base", ask.Run.Base}} {
		if o.value != "" {
			argv = append(argv, "--"+o.flag+"="+o.value)
		}
	}
	for _, o := range []struct {
		flag string
		on   bool
	}{{"new", ask.Run.New}, {"fresh", ask.Run.Fresh}, {"if-changed", ask.Run.IfChanged}} {
		if o.on {
			argv = append(argv, "--"+o.flag)
		}
	}
	return argv, env, nil
}

// ordered is the run that was started by a request; nil: there is none.
func (k *Keeper) ordered(request string) (*RunMade, error) {
	ids, err := run.List(k.org.Root())
	if err != nil {
		return nil, err
	}
	for i := len(ids) - 1; i >= 0; i-- {
		r, err := run.Open(k.org.Root(), ids[i])
		if err != nil {
			continue // not one that was made a moment ago
		}
		if r.Plan.Order == request {
			return &RunMade{Run: r.Plan.ID, Session: r.Plan.Session}, nil
		}
	}
	return nil, nil
}
