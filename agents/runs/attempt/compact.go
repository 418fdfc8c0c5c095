package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/tmux"
	"cmux/agents/records/event"
	"cmux/agents/records/journal"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/run"
	"cmux/worktree/git"
)

// A summary replaces the conversation of a standing agent (compaction): cmux saves the
// agent's state before it and records the result.

// compacting is a compaction that is about to happen.
type compacting struct {
	key    string        // id of the command; empty: the program or a person started it
	trig   string        // why
	path   string        // file with the agent's state; empty: none
	typed  bool          // the program has announced it
	failed bool          // cmux no longer waits for it, but it may still begin
	done   chan struct{} // closed when its program has confirmed it
}

// compaction tracks the compactions of a standing agent's conversation.
type compaction struct {
	*reporter
	standing     bool                                                 // else nothing is saved and recorded
	keep         func(trigger, order string) (path string, err error) // saves the agent's state
	conversation func() string                                        // returns the conversation's id

	now     *compacting // the current one; nil: none
	unheard bool        // the program has not announced one that was confirmed otherwise
}

// forget resets the state after the program has ended.
func (a *compaction) forget() { a.now, a.unheard = nil, false }

// begins records that a compaction begins.
func (a *compaction) begins(c *compacting) error {
	a.now = c
	return a.write(run.Compacting, c)
}

// over records that cmux no longer waits for the program, and whether it has compacted, if
// known.
func (a *compaction) over(c *compacting, did bool) error {
	switch {
	case a.now != c: // it has confirmed
		return nil
	case !did:
		c.failed = true
		return nil
	}
	a.unheard = true // its hook may still come
	return a.confirm(c)
}

// lapse handles the begin or end of a turn: an unsuccessful command does not take effect
// after it.
func (a *compaction) lapse() {
	if c := a.now; c != nil && c.failed && !c.typed {
		a.now = nil
	}
}

// ordered is the trigger of a compaction that cmux starts.
const ordered = "ordered"

// before handles the program's announcement of a compaction, whoever started it.
func (a *compaction) before(trigger string) error {
	a.unheard = false
	if c := a.now; c != nil && c.key != "" && !c.typed {
		c.typed = true
		return nil
	}
	if !a.standing {
		return nil
	}
	path, err := a.keep(trigger, "")
	if err != nil {
		a.note("the state before the compaction could not be saved: %v", err)
	}
	return a.begins(&compacting{trig: trigger, path: path, typed: true})
}

// after handles that a summary has replaced the conversation.
func (a *compaction) after(trigger string) error {
	if !a.standing {
		return nil
	}
	c := a.now
	if c == nil {
		if a.unheard { // it is known already
			a.unheard = false
			return nil
		}
		c = &compacting{trig: trigger}
	}
	return a.confirm(c)
}

func (a *compaction) confirm(c *compacting) error {
	a.now = nil
	if err := a.write(run.Compacted, c); err != nil {
		return err
	}
	if c.done != nil {
		close(c.done)
	}
	return nil
}

func (a *compaction) write(of run.Type, c *compacting) error {
	return a.record(run.Record{Type: of, Key: c.key, Detail: c.trig, Value: c.path, Conversation: a.conversation()})
}

// artifact is the saved state of an agent before a compaction.
type artifact struct {
	Agent        string    `json:"agent"`
	At           time.Time `json:"at"`
	Trigger      string    `json:"trigger"`
	Order        string    `json:"order,omitempty"`
	Conversation string    `json:"conversation"`
	Context      int64     `json:"context_tokens,omitempty"`
	Task         string    `json:"task,omitempty"`
	LastTask     string    `json:"last_task,omitempty"`
	Branch       string    `json:"branch"`
	Commit       string    `json:"commit"`
	Changed      []string  `json:"uncommitted_changes"`
	Staged       []string  `json:"staged_changes"`
	Waiting      []string  `json:"waiting_messages"`
	Terminal     []string  `json:"terminal"`
	Fault        string    `json:"fault,omitempty"` // what could not be read
}

// screenLines is how many lines of the end of the terminal are saved.
const screenLines = 50

// compact makes the program compact, for a command. It first saves the agent's state and
// records the begin: a recorded command is never carried out again.
func (a *attempt) compact(order string) error {
	failure := ""
	path, err := a.keepState(ordered, order)
	if err != nil {
		failure = fmt.Sprintf("the state could not be saved: %v", err)
	} else {
		c := &compacting{key: order, trig: ordered, path: path, done: make(chan struct{})}
		if err := a.compaction.begins(c); err != nil {
			return err
		}
		failed, err := a.during(func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, a.limits.Compact)
			defer cancel()
			err := a.agent.Agent.(agent.Compacter).Compact(ctx, c.done)
			if errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("the program did not confirm the compaction within %s", a.limits.Compact)
			}
			return err
		}, &a.giveUp)
		if err != nil {
			return err
		}
		if failed != nil {
			failure = failed.Error()
		}
		if err := a.compaction.over(c, failed == nil); err != nil {
			return err
		}
	}
	if err := a.noticeEnd(); err != nil {
		return err
	}
	return a.feed(conversation.Delivered{Failure: failure})
}

// keepState saves the state of a standing agent among the journal's artifacts, before a
// compaction.
func (a *attempt) keepState(trigger, order string) (path string, err error) {
	ctx, cancel := context.WithTimeout(a.ctx, glancePatience)
	defer cancel()
	c := artifact{
		Agent: a.spec.Node, At: time.Now(), Trigger: trigger, Order: order, Conversation: a.end.Conversation, Context: a.filled.Tokens,
		Task: a.Work, LastTask: a.lastTask, Changed: []string{}, Staged: []string{}, Waiting: append([]string{}, a.State.Waiting()...), Terminal: []string{},
	}
	g, err := git.GlanceAt(ctx, a.stage.Dir)
	if err != nil {
		c.Fault = err.Error()
	}
	c.Branch, c.Commit = g.Branch, g.Commit
	c.Changed, c.Staged = append(c.Changed, g.Changed...), append(c.Staged, g.Staged...)
	if t := a.stage.Terminal; t != nil && t.Pane != "" && t.Tmux != "" {
		text, err := tmux.Server{Socket: t.Tmux}.Exec(ctx, "capture-pane", "-p", "-t", t.Pane)
		if err == nil {
			lines := strings.Split(strings.TrimRight(run.Masked(a.stage.Env, text), "\n "), "\n")
			c.Terminal = append(c.Terminal, lines[max(0, len(lines)-screenLines):]...)
		}
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", err
	}
	j := &journal.Journal{Root: a.spec.Frame.Root, Now: time.Now}
	path, err = j.Artifact(fmt.Sprintf("compaction-%s-%s.json", a.spec.Node, c.At.Format("20060102-150405")), append(b, '\n'))
	if err != nil {
		return "", err
	}
	if a.spec.Terms.Journals {
		entry := journal.Entry{At: c.At, Title: a.spec.Node + " is about to be compacted", By: a.spec.Node, Tags: []string{"compaction"}, Text: c.brief(path)}
		if _, err := j.Add(ctx, entry); err != nil { // the state is saved all the same
			a.note("the state is saved in %s, but could not be added to the journal: %v", path, err)
		}
	}
	a.stage.Show(event.Event{Kind: event.Note, Text: "the conversation is about to be compacted; the state is saved in " + path})
	return path, nil
}

// brief returns the journal's entry about it.
func (c *artifact) brief(path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The state is saved in %s. Conversation %s", path, c.Conversation)
	if c.Context > 0 {
		fmt.Fprintf(&b, ", %d tokens", c.Context)
	}
	fmt.Fprintf(&b, ". On %s at %s, %d files not committed, %d messages not delivered.\n", c.Branch, c.Commit, len(c.Changed)+len(c.Staged), len(c.Waiting))
	return b.String()
}
