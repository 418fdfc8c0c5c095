package standing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/attempt"
	"cmux/agents/run"
	"cmux/signals/mailbox"
)

// Compaction is a summary that replaced an agent's conversation, or is about to.
type Compaction struct {
	Order    string    `json:"order,omitempty"` // the request; empty: the program did it by itself, or a person had it
	Why      string    `json:"why,omitempty"`
	Artifact string    `json:"artifact,omitempty"` // where it is kept how the agent stood, from the project's root
	At       time.Time `json:"at"`
	Done     time.Time `json:"done,omitzero"` // its program confirmed it; zero: it has not
}

// compacts takes in that a summary is about to replace the conversation, or that
// it has.
func (s *State) compacts(rec *run.Record) {
	if rec.Attempt <= s.foreign {
		return // of a conversation before
	}
	if rec.Type == run.Compacting {
		s.Compaction = &Compaction{Order: rec.Key, Why: rec.Detail, Artifact: rec.Value, At: rec.At}
		return
	}
	s.Compactions++
	c := Compaction{Order: rec.Key, Why: rec.Detail, Artifact: rec.Value, At: rec.At}
	if was := s.Compaction; was != nil && was.Order == rec.Key && was.Done.IsZero() {
		c = *was
	}
	c.Done = rec.At
	s.Compaction = &c
}

// compact has an agent's program compact. Whether it began to is on record in the
// agent's own file, so a keeper that is killed before it could answer does not
// order it twice.
func (k *Keeper) compact(ctx context.Context, q run.Request, a *Agent) (done, error) {
	if c := a.Compaction; c != nil && c.Order == q.ID {
		return done{over: true}, nil
	}
	t := k.live[a.Name]
	switch {
	case k.Kinds[a.Member.Kind].Can.Compacts == "":
		return refuse("%s cannot be told to compact its conversation: its program is %s", a.Name, a.Member.Kind), nil
	case a.parts() || k.org.Stopped:
		return refuse("%s is being ended", a.Name), nil
	case t == nil || !a.Life.On():
		return refuse("%s does not run", a.Name), nil
	case a.Work != nil:
		return refuse("%s is at work on %s", a.Name, a.Work.ID), nil
	}
	say, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	reply, err := t.link.Say(say, attempt.Message{Op: attempt.OpCompact, Key: q.ID})
	switch {
	case reply.Error != "":
		return refuse("%s", reply.Error), nil
	case err != nil:
		return done{}, err // it is said again: who has heard it knows it
	}
	return done{over: true}, nil
}

// tellCompacted tells agents that were compacted by an order where it is kept how
// they stood, once.
func (k *Keeper) tellCompacted(ctx context.Context) error {
	var errs []error
	for name, a := range k.org.Agents {
		c := a.Compaction
		if c == nil || c.Order == "" || c.Artifact == "" || c.Done.IsZero() || a.Leaving != "" || k.office == nil {
			continue
		}
		text := fmt.Sprintf("A summary has replaced your conversation. How you stood before it is kept in %s: the task, the branch and what was not committed, what you were shown last.", c.Artifact)
		if a.Leads() {
			text += fmt.Sprintf(" Your journal has the rest: `cmux journal show %s`. `cmux autonomy` shows what waits.", c.At.Format(time.DateOnly))
		}
		text += " Read it before you go on where the summary leaves something open. When nothing is to be done, end your turn."
		m := mailbox.Message{ID: mailID("compacted-" + c.Order), From: "monitor", To: name, Subject: mailbox.Sys.Subject("your conversation was compacted"), Body: text}
		if err := k.sends(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
