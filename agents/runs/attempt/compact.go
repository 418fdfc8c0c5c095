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

// What a summary of its conversation means for a standing agent: how it stands is
// kept before it, and what came of it is recorded.

// compacting is a summary that is about to replace the conversation.
type compacting struct {
	key    string        // the order; empty: the program does it by itself, or a person had it
	trig   string        // why
	path   string        // where it is kept how the agent stood; empty: it is not
	typed  bool          // its program said that it begins
	failed bool          // its program is not waited for any more; it may begin yet
	done   chan struct{} // closed when its program has confirmed it
}

// compaction is what is known of the summaries of a standing agent's conversation.
type compaction struct {
	*reporter
	standing     bool                                                 // else nothing is kept and recorded
	keep         func(trigger, order string) (path string, err error) // keeps how the agent stands
	conversation func() string                                        // which it is

	now     *compacting // that is under way; nil: none
	unheard bool        // its program has not told of one that is confirmed otherwise
}

// forget is after the program has ended.
func (a *compaction) forget() { a.now, a.unheard = nil, false }

// begins records that a summary is about to be made.
func (a *compaction) begins(c *compacting) error {
	a.now = c
	return a.write(run.Compacting, c)
}

// over takes in that the program is not waited for any more, which has
// compacted or not, as far as it is known.
func (a *compaction) over(c *compacting, did bool) error {
	switch {
	case a.now != c: // it has confirmed it
		return nil
	case !did:
		c.failed = true
		return nil
	}
	a.unheard = true // its hook may come yet
	return a.confirm(c)
}

// lapse takes in that a turn begins or has ended: an order that came to
// nothing does not begin after it.
func (a *compaction) lapse() {
	if c := a.now; c != nil && c.failed && !c.typed {
		a.now = nil
	}
}

// ordered is the trigger of a compaction that cmux orders.
const ordered = "ordered"

// before takes in that the program is about to compact, by an order or
// without one.
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
		a.note("how it stood before it was compacted is not kept: %v", err)
	}
	return a.begins(&compacting{trig: trigger, path: path, typed: true})
}

// after takes in that a summary has replaced the conversation.
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

// artifact is what is kept of an agent before a summary replaces its
// conversation.
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
	Fault        string    `json:"fault,omitempty"` // what could not be looked at
}

// screenLines of the end of the terminal are kept.
const screenLines = 50

// compact has the program compact, by an order. First it is kept how the agent
// stands, and recorded that it begins: an order that is known is never carried out
// again.
func (a *attempt) compact(order string) error {
	failure := ""
	path, err := a.keepState(ordered, order)
	if err != nil {
		failure = fmt.Sprintf("how it stands could not be kept: %v", err)
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
				return fmt.Errorf("its program did not confirm it within %s", a.limits.Compact)
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

// keepState keeps how a standing agent stands, before a summary replaces its
// conversation, among the journal's artifacts.
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
	if leads(a.spec.Member) { // who leads has a journal
		entry := journal.Entry{At: c.At, Title: a.spec.Node + " is about to be compacted", By: a.spec.Node, Tags: []string{"compaction"}, Text: c.brief(path)}
		if _, err := j.Add(ctx, entry); err != nil { // it is kept all the same
			a.note("the journal does not tell that how it stands is kept in %s: %v", path, err)
		}
	}
	a.stage.Show(event.Event{Kind: event.Note, Text: "its conversation is about to be compacted; how it stands is kept in " + path})
	return path, nil
}

// brief is what the journal says of it.
func (c *artifact) brief(path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "How it stands is kept in %s. Conversation %s", path, c.Conversation)
	if c.Context > 0 {
		fmt.Fprintf(&b, ", %d tokens", c.Context)
	}
	fmt.Fprintf(&b, ". On %s at %s, %d files not committed, %d messages not handed over.\n", c.Branch, c.Commit, len(c.Changed)+len(c.Staged), len(c.Waiting))
	return b.String()
}
