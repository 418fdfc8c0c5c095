package standing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// Compaction is a summary that replaced an agent's conversation, or is about to.
type Compaction struct {
	Order    string    `json:"order,omitempty"` // the request; empty: the program did it by itself, or a person had it
	Why      string    `json:"why,omitempty"`
	Artifact string    `json:"artifact,omitempty"` // where it is kept how the agent stood, from the project's root
	At       time.Time `json:"at"`
	Done     time.Time `json:"done,omitzero"` // its program confirmed it; zero: it has not

	life         int    // in which it began
	conversation string // that it replaces
}

// compacts takes in that a summary is about to replace the conversation, or that
// it has.
func (s *State) compacts(rec *run.Record) {
	if rec.Attempt <= s.foreign {
		return // of a conversation before
	}
	c := Compaction{Order: rec.Key, Why: rec.Detail, Artifact: rec.Value, At: rec.At, life: rec.Attempt, conversation: rec.Conversation}
	if rec.Type == run.Compacting {
		s.Compaction = &c
		return
	}
	s.Compactions++
	if was := s.Compaction; was != nil && was.Done.IsZero() && was.confirmedBy(rec) {
		c = *was
	}
	c.Done = rec.At
	s.Compaction = &c
}

// confirmedBy reports whether a confirmation is of this compaction. A wrapper that
// was started meanwhile knows of no order: what its program confirms in the same
// conversation is what was begun there.
func (c *Compaction) confirmedBy(rec *run.Record) bool {
	return rec.Key == c.Order || rec.Key == "" && rec.Value == "" && (rec.Conversation == c.conversation || rec.Conversation == "" || c.conversation == "")
}

// compact has an agent's program compact. Whether it began to is on record in the
// agent's own file, so a keeper that is killed before it could answer does not
// order it twice.
func (k *Keeper) compact(ctx context.Context, q run.Request, a *Agent) (done, error) {
	if c := a.Compaction; c != nil && c.Order == q.ID {
		return done{over: true}, nil
	}
	l := k.lives.Of(a.Name)
	switch {
	case k.Kinds[a.Member.Kind].Can.Compacts == "":
		return refuse("%s cannot be told to compact its conversation: its program is %s", a.Name, a.Member.Kind), nil
	case a.parts() || k.org.Stopped:
		return refuse("%s is being ended", a.Name), nil
	case l == nil || !a.Life.On():
		return refuse("%s does not run", a.Name), nil
	case a.Work != nil:
		return refuse("%s is at work on %s", a.Name, a.Work.ID), nil
	}
	reply, err := l.Tell(ctx, attempt.Message{Op: attempt.OpCompact, Key: q.ID})
	switch {
	case reply.Error != "":
		return refuse("%s", reply.Error), nil
	case err != nil:
		return done{}, err // it is said again: who has heard it knows it
	}
	return done{over: true}, nil
}

// tellCompacted tells each agent once where its state before an ordered compaction is
// kept. If the agent's life ended before the program confirmed the compaction, the
// next life is told too, because the program may have compacted.
func (k *Keeper) tellCompacted(ctx context.Context) error {
	var errs []error
	for name, a := range k.org.Agents {
		c := a.Compaction
		if c == nil || c.Order == "" || c.Artifact == "" || a.Leaving != "" || a.InRoom() || k.office == nil {
			continue
		}
		subject, text := "your conversation was compacted", "A summary has replaced your conversation."
		if c.Done.IsZero() {
			if a.Life.N <= c.life {
				continue
			}
			subject = "your conversation may have been compacted"
			text = "Your program was to replace your conversation by a summary, and ended before it confirmed that. It may have done so."
		}
		text += fmt.Sprintf(" How you stood before it is kept in %s: the task, the branch and what was not committed, what you were shown last.", c.Artifact)
		if a.Leads() {
			text += fmt.Sprintf(" Your journal has the rest: `cmux journal show %s`. `cmux autonomy` shows what waits.", c.At.Format(time.DateOnly))
		}
		text += " Read it only if something is unclear. If there is nothing to do, end your turn."
		m := mailbox.Message{ID: mailID("compacted-" + c.Order), From: "monitor", To: name, Subject: mailbox.Sys.Subject(subject), Body: text}
		if err := k.sends(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
