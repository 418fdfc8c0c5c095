// Package terminals shows a person the terminals of runs and standing agents: it says
// what there is to attach to, brings a pane to the front, opens a conversation that has
// ended again, and seats a person on the page in a pane.
package terminals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"cmux/agents/control/commands"
	"cmux/agents/control/crew"
	"cmux/agents/control/logs"
	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/kinds"
	"cmux/agents/platform/say"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree/hint"
)

// Terminals are the terminals of a project.
type Terminals struct {
	*project.Project
	Runs    *runs.Runs
	Logs    *logs.Logs
	Crew    *crew.Crew
	Records *records.Records
	// OfRun opens the commands to a run: see [control.Project.OfRun].
	OfRun func(ctx context.Context, id string) (*commands.Commands, error)
}

// Attach asks for a look at the run that is meant in tmux, or at one node.
type Attach struct {
	Node string `json:"node,omitempty"` // empty: the run
	Pane bool   `json:"pane,omitempty"` // the pane even of an agent that has ended, as it left it
}

// Offer is what is there to be looked at.
type Offer struct {
	Node         string        `json:"node,omitempty"`
	Label        dag.Label     `json:"label,omitzero"`
	Pane         bool          `json:"pane"`                   // the session, at the node's pane
	Conversation *Conversation `json:"conversation,omitempty"` // of an agent that has ended; it comes before the pane

	run *run.Run
}

// Conversation is what a person can continue by themselves.
type Conversation struct {
	ID   string `json:"id"`
	Dir  string `json:"dir"`            // where it is opened
	Lost string `json:"lost,omitempty"` // its own directory, when that is gone; Dir is then the project's

	busy    bool // the run is about to continue it
	kind    string
	machine string // that has it, if not this one
}

// Session offers a look at a run.
func Session(r *run.Run) *Offer { return &Offer{Pane: true, run: r} }

// Attach says what is offered.
func (t *Terminals) Attach(ctx context.Context, o Attach) (*Offer, error) {
	if o.Node == "" {
		r, err := t.Runs.Latest(ctx)
		if err != nil {
			return nil, err
		}
		return Session(r), nil
	}
	v, i, err := t.Runs.Node(ctx, o.Node)
	if err != nil {
		return nil, err
	}
	n, name := &v.Nodes[i], o.Node
	if n.Spec.Role == dag.RoleGate {
		err := fmt.Errorf("%s is a gate (%s): nothing runs in it, so it has no pane", name, n.Status.Label)
		if runview.Succeeded(n) {
			return nil, err
		}
		return nil, hint.New(err, "cmux agents approve "+name)
	}
	offer := &Offer{Node: name, Label: n.Status.Label, run: v.Run}
	if a := n.Away(); a != nil {
		try := "cmux agents logs " + name + " -f"
		if runview.Asks(n) {
			try = "cmux agents answer " + name + " TEXT, or " + try
		}
		if a.Place.Machine == "" {
			return nil, hint.New(fmt.Errorf("%s waits for a machine (%s): it has no pane", name, n.Status.Label), try)
		}
		return nil, hint.New(fmt.Errorf("%s works on %s (%s): its pane is not on this machine", name, a.Place.Machine, n.Status.Label), try)
	}
	if n.Fact.Live() && n.Left == nil {
		if v.Run.Plan.Headless {
			return nil, hint.New(fmt.Errorf("%s runs headless (%s): it has no pane", name, n.Status.Label), "cmux agents logs "+name+" -f")
		}
		offer.Pane = true
		return offer, nil
	}
	if !v.Run.Plan.Headless { // a session may still have its pane
		if _, offer.Pane, err = runner.Session(ctx, v.Run); err != nil {
			return nil, err
		}
	}
	c := conversationOf(n, v.Run.Plan.Root)
	if a := n.Attempt(); a != nil && a.Place.Away() { // it had no pane here
		offer.Pane = false
	}
	if c != nil && c.machine != "" {
		return nil, hint.New(fmt.Errorf("the conversation of %s (%s) is on %s, where its agent worked", name, n.Status.Label, c.machine), "cmux agents logs "+name)
	}
	if c == nil || o.Pane {
		if offer.Pane {
			return offer, nil
		}
		what, try := "it has no pane, and no conversation to open again", "cmux agents logs "+name
		if c != nil {
			what, try = "it has no pane any more", "cmux agents attach "+name
		}
		return nil, hint.New(fmt.Errorf("%s (%s): %s", name, n.Status.Label, what), try)
	}
	c.busy = n.Fact.Phase != dag.Ended && !runview.Left(n) && v.Holder != nil
	offer.Conversation = c
	return offer, nil
}

// conversationOf is the newest conversation of a node, and nil when it has
// none. A directory that is gone cannot be opened in.
func conversationOf(n *run.NodeView, root string) *Conversation {
	for i := len(n.Attempts) - 1; i >= 0; i-- {
		a := &n.Attempts[i]
		id := a.Conversation
		if id == "" && a.End != nil {
			id = a.End.Conversation
		}
		if id == "" {
			continue
		}
		if a.Place.Away() {
			return &Conversation{ID: id, machine: cmp.Or(a.Place.Machine, "another machine")}
		}
		c := &Conversation{ID: id, Dir: filepath.Join(a.Place.Dir, filepath.FromSlash(n.Spec.Dir)), kind: n.Spec.Agent}
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			c.Dir, c.Lost = root, c.Dir
		}
		return c
	}
	return nil
}

// Logs is the command that shows what the node did.
func (o *Offer) Logs() string { return "cmux agents logs " + o.Node }

// Reopen is the command that opens the conversation, in the environment of the
// caller.
func (t *Terminals) Reopen(o *Offer) (*exec.Cmd, error) {
	if o.Conversation.busy {
		return nil, hint.New(fmt.Errorf("%s has no agent now, and the run is about to start it (%s)", o.Node, o.Label), o.Logs())
	}
	cmd, err := kinds.Reopen(o.Conversation.kind, t.Env, o.Conversation.ID)
	if err != nil {
		try := o.Logs()
		if errors.Is(err, exec.ErrNotFound) {
			try = "cmux doctor"
		}
		return nil, hint.New(fmt.Errorf("the conversation of %s cannot be opened: %w", o.Node, err), try)
	}
	cmd.Dir = o.Conversation.Dir
	return cmd, nil
}

// AttachKeys are the keys in a session, as help: they are bound by the
// configuration of its tmux server.
const AttachKeys = "" +
	"  " + tmux.KeyNext + ", prefix " + tmux.PrefixNext + "   the next agent that needs you, its pane zoomed; again:\n" +
	"                 the one after it; none left: back to the tiles\n" +
	"  " + tmux.KeyMonitor + ", prefix " + tmux.PrefixMonitor + "   the monitor\n" +
	"  prefix " + tmux.PrefixEnded + "       the agents that have ended, with their last lines\n" +
	"  prefix z       zoom the pane, or back to the tiles\n" +
	"  prefix d       detach; the run continues\n" +
	"  prefix ?       all keys of tmux"

// ShellLine is cmd as a person would type it.
func ShellLine(cmd *exec.Cmd) string {
	words := make([]string, len(cmd.Args))
	for i, a := range cmd.Args {
		words[i] = say.Word(a)
	}
	return "cd " + say.Word(cmd.Dir) + " && " + strings.Join(words, " ")
}

// Show is the command that shows a terminal the session, at the pane of the
// node if the offer is of one, which is brought to the front. Within tmux (mux
// is what TMUX holds there, else empty) it opens a window of that tmux; outside
// it needs a terminal.
func (t *Terminals) Show(ctx context.Context, o *Offer, mux string, terminal bool) (argv []string, err error) {
	r := o.run
	server := runner.Server(r)
	if server == nil {
		return nil, hint.New(fmt.Errorf("run %s is headless: there is no session", r.Plan.ID), "cmux agents status --watch, or cmux agents logs NAME -f")
	}
	session := r.Plan.TmuxSession()
	id, ok, err := runner.Session(ctx, r)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, hint.New(fmt.Errorf("the session %s of run %s is gone", session, r.Plan.ID), "cmux agents resume")
	}
	if o.Node != "" {
		if err := t.selectPane(ctx, r, *server, o.Node); err != nil {
			return nil, err
		}
	}
	if mux == "" && !terminal {
		return nil, project.Usage("cmux agents status --watch", noTerminal)
	}
	return attached(ctx, server, id, session, mux)
}

const noTerminal = "there is no terminal to attach"

// attached is the command that shows a terminal a session of server. Within tmux it
// opens a window there.
func attached(ctx context.Context, server *tmux.Server, id tmux.SessionID, session, mux string) ([]string, error) {
	outer, _, _ := strings.Cut(mux, ",")
	if outer != "" && filepath.Base(outer) == server.Socket {
		// Already there: a session within itself would show nothing.
		return []string{"tmux", "switch-client", "-t", string(id)}, nil
	}
	if err := server.TellPrefix(ctx, id, outer); err != nil {
		return nil, err
	}
	if outer == "" {
		return server.AttachArgs(id)
	}
	return server.AttachInsideArgs(id, session)
}

// selectPane brings the pane of a node to the front of its session.
func (t *Terminals) selectPane(ctx context.Context, r *run.Run, server tmux.Server, node string) error {
	v, err := r.View(ctx, t.Now())
	if err != nil {
		return err
	}
	i, err := runs.Index(v.Run, node)
	if err != nil {
		return err
	}
	n := &v.Nodes[i]
	a := n.Attempt()
	if a == nil || a.Pane == "" {
		return hint.New(fmt.Errorf("%s has no pane (%s)", node, n.Status.Label), "cmux agents status")
	}
	in, err := server.Exec(ctx, "display-message", "-p", "-t", a.Pane, "#{session_name}")
	if err == nil && in != r.Plan.TmuxSession() { // ids begin again with a new server
		err = tmux.ErrNotFound
	}
	if err == nil {
		// A question may be longer than a tile, and what has ended has a small one.
		asks := n.Status.Label.State == dag.NodeNeedsInput
		err = server.ShowPane(ctx, tmux.PaneID(a.Pane), asks || !n.Fact.Live())
	}
	if errors.Is(err, tmux.ErrNotFound) {
		return hint.New(fmt.Errorf("the pane of %s is gone", node), "cmux agents logs "+node)
	}
	return err
}
