// Package machines connects a project to the machines that carry out its far nodes: which
// they are (the person's own settings or the command line, never the repository), what they
// offer, and the Host of a run over them.
package machines

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/far"
	"cmux/agents/far/farhost"
	"cmux/agents/far/pipe"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/settings"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// OnVar is the environment variable that names machines, by spaces.
const OnVar = "CMUX_ON"

// On returns the carriers that a person wants: those that were asked for, else those of
// their environment, else those of their own settings.
func On(asked []string, getenv func(string) string) ([]string, error) {
	on := asked
	if len(on) == 0 {
		on = strings.Fields(getenv(OnVar))
	}
	if len(on) == 0 {
		user, err := settings.Read()
		if err != nil {
			return nil, err
		}
		on = user.On
	}
	_, err := dialers(on, getenv)
	return on, err
}

// CommandVar is the environment variable that says how cmux is called on machines, where it
// is not in the PATH of an ssh command.
const CommandVar = "CMUX_FAR_COMMAND"

func dialers(on []string, getenv func(string) string) ([]pipe.Dialer, error) {
	var all []pipe.Dialer
	var errs []error
	for _, url := range on {
		scheme, _, _ := strings.Cut(url, "://")
		if scheme != "ssh" {
			errs = append(errs, project.Usage("", "--on %s: machines are reached by ssh://[USER@]HOST[:PORT]", url))
			continue
		}
		d, err := pipe.SSH(url, pipe.SSHOptions{Command: getenv(CommandVar)})
		if err != nil {
			errs = append(errs, project.Usage("", "--on %s: %w", url, err))
			continue
		}
		all = append(all, d)
	}
	return all, errors.Join(errs...)
}

// Away returns the nodes of g that run on other machines.
func Away(g *dag.Graph) (names []string) {
	for i := range g.Nodes {
		if g.Nodes[i].Away() {
			names = append(names, g.Nodes[i].Name)
		}
	}
	return names
}

// Needed refuses a graph whose nodes run on machines that nobody has named.
func Needed(g *dag.Graph) error {
	return hint.New(fmt.Errorf("%s of this graph run on other machines (runs_on), and no machine is named", strings.Join(Away(g), ", ")),
		"cmux agents start --on ssh://HOST, or cmux agents start --here to run everything at home")
}

// Refused names what nodes of other machines cannot do.
func Refused(g *dag.Graph) error {
	var errs []error
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Away() && len(n.OnComplete) > 0 {
			errs = append(errs, hint.New(fmt.Errorf("%s has on_complete, which does not run for nodes with runs_on", n.Name), "take on_complete off it, or cmux agents start --here"))
		}
	}
	return errors.Join(errs...)
}

// Wrap returns the runner.Options.Far of a run: its far nodes are carried out over the
// carriers of its plan; nil: it has none.
func Wrap(r *run.Run) func(host.Config, host.Host) (host.Host, error) {
	if len(r.Plan.On) == 0 {
		return nil
	}
	return func(c host.Config, home host.Host) (host.Host, error) {
		ctx := c.Told
		ds, err := dialers(r.Plan.On, func(name string) string { return proc.Getenv(c.Env, name) })
		if err != nil {
			return nil, err
		}
		project, err := Project(ctx, r.Plan.Root)
		if err != nil {
			return nil, err
		}
		carrier := pipe.New(context.WithoutCancel(ctx), pipe.Options{Home: project + "/" + r.Plan.ID, Cmux: version(), Machines: ds, Log: log.New(logWriter{c}, "", 0)})
		h, err := farhost.New(ctx, farhost.Config{Config: c, Home: home, Carrier: carrier, URL: strings.Join(r.Plan.On, " "), Project: project, Cmux: version()})
		if err != nil {
			carrier.Stop()
			return nil, err
		}
		return &connected{h, carrier}, nil
	}
}

// logWriter writes what a carrier has to say into the runner's log.
type logWriter struct{ c host.Config }

func (w logWriter) Write(b []byte) (int, error) {
	w.c.Log.Info("machines: " + strings.TrimSpace(string(b)))
	return len(b), nil
}

// connected ends the connections with the Host.
type connected struct {
	*farhost.Host
	carrier *pipe.Carrier
}

func (c *connected) Close() error {
	err := c.Host.Close()
	c.carrier.Stop()
	return err
}

// lookFor bounds the wait for machines that are to say what they offer.
const lookFor = 10 * time.Second

// List asks machines what they offer. One that does not answer in time has a Fault.
func List(ctx context.Context, on []string, getenv func(string) string) ([]far.Machine, error) {
	ds, err := dialers(on, getenv)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	c := pipe.New(ctx, pipe.Options{Home: fmt.Sprintf("look-%d@%s", os.Getpid(), name), Cmux: version(), Machines: ds, Log: log.New(io.Discard, "", 0)})
	defer c.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		all, err := c.Machines(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(m far.Machine) bool { return m.Fault == pipe.NotReached }) {
			return all, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return all, nil
		}
	}
}

// Where says which machines fit a node, for the table before a start.
func Where(n *dag.Node, all []far.Machine) string {
	need := far.Need{Labels: n.RunsOn, Kind: n.Agent, Accept: n.AutoAccept}
	var fit, not []string
	for i := range all {
		m := &all[i]
		if why := need.Lacks(m); why == "" {
			fit = append(fit, m.Name)
		} else {
			not = append(not, m.Name+": "+why)
		}
	}
	if len(fit) > 0 {
		return strings.Join(fit, " ")
	}
	if len(not) > 0 {
		return "no machine yet (" + strings.Join(not, "; ") + ")"
	}
	return "no machine yet"
}

// Project names a project on all machines: by its first commit and its folder's name.
func Project(ctx context.Context, root string) (string, error) {
	out, err := git.Run(ctx, root, "rev-list", "--max-parents=0", "HEAD")
	if err != nil {
		return "", err
	}
	firsts := strings.Fields(out)
	slices.Sort(firsts)
	sum := sha256.Sum256([]byte(strings.Join(firsts, " ") + "\n" + filepath.Base(root)))
	return hex.EncodeToString(sum[:8]), nil
}

// version is this program's.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
