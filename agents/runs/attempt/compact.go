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
	"cmux/worktree"
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
		if err := a.recordCompaction(run.Compacting, c); err != nil {
			return err
		}
		a.compacts = c
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
		if err := a.compactOver(c, failed == nil); err != nil {
			return err
		}
	}
	if err := a.noticeEnd(); err != nil {
		return err
	}
	return a.feed(conversation.Delivered{Failure: failure})
}

// compactOver takes in that the program is not waited for any more, which has
// compacted or not, as far as it is known.
func (a *attempt) compactOver(c *compacting, did bool) error {
	switch {
	case a.compacts != c: // it has confirmed it
		return nil
	case !did:
		c.failed = true
		return nil
	}
	a.unheard = true // its hook may come yet
	return a.confirmCompact(c)
}

// compactLapses takes in that a turn begins or has ended: an order that came to
// nothing does not begin after it.
func (a *attempt) compactLapses() {
	if c := a.compacts; c != nil && c.failed && !c.typed {
		a.compacts = nil
	}
}

// ordered is the trigger of a compaction that cmux orders.
const ordered = "ordered"

// beforeCompact takes in that the program is about to compact, by an order or
// without one.
func (a *attempt) beforeCompact(trigger string) error {
	a.unheard = false
	if c := a.compacts; c != nil && c.key != "" && !c.typed {
		c.typed = true
		return nil
	}
	if !a.stays() {
		return nil
	}
	path, err := a.keepState(trigger, "")
	if err != nil {
		a.note("how it stood before it was compacted is not kept: %v", err)
	}
	a.compacts = &compacting{trig: trigger, path: path, typed: true}
	return a.recordCompaction(run.Compacting, a.compacts)
}

// afterCompact takes in that a summary has replaced the conversation.
func (a *attempt) afterCompact(trigger string) error {
	if !a.stays() {
		return nil
	}
	c := a.compacts
	if c == nil {
		if a.unheard { // it is known already
			a.unheard = false
			return nil
		}
		c = &compacting{trig: trigger}
	}
	return a.confirmCompact(c)
}

func (a *attempt) confirmCompact(c *compacting) error {
	a.compacts = nil
	if err := a.recordCompaction(run.Compacted, c); err != nil {
		return err
	}
	if c.done != nil {
		close(c.done)
	}
	return nil
}

func (a *attempt) recordCompaction(of run.Type, c *compacting) error {
	return a.record(run.Record{Type: of, Key: c.key, Detail: c.trig, Value: c.path, Conversation: a.end.Conversation})
}

// fills takes in how much of its context window is in use. It is recorded by the
// percent, so that a long conversation makes few lines.
func (a *attempt) fills(c run.Context) error {
	if !a.stays() || c == a.filled {
		return nil
	}
	const unknown = 200_000 // a window, where its program does not say
	if was := a.filled; was.Window == c.Window && was.Share(unknown) == c.Share(unknown) {
		return nil
	}
	a.filled = c
	return a.record(run.Record{Type: run.Filled, Context: &c})
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
	g, err := worktree.GlanceAt(ctx, a.stage.Dir)
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
