package wrapper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// Of a standing agent this process carries one life: the records are the agent's
// own, and there is no marker.

// bookOf opens the records that the attempt is entered in.
func (o Options) bookOf(r *run.Run) (*run.Book, error) {
	if r.IsOrganization() {
		return r.OpenAgentBook(o.Node)
	}
	return r.OpenBook()
}

// homeOf is whom the attempt asks while it works.
func (o Options) homeOf(r *run.Run) attempt.Home {
	if r.IsOrganization() {
		return alone{r, o.Node}
	}
	return r
}

// alone is the Home of a standing agent: nobody grants it slots.
type alone struct {
	*run.Run
	name string
}

func (alone) RunnerLives() bool { return false }

// Tell is Run's. There is no table of a run that shows it, so it is also sent to
// the person.
func (a alone) Tell(ctx context.Context, detail string, grave bool) (first bool, err error) {
	first, err = a.Run.Tell(ctx, detail, grave)
	if err != nil || !first || !grave {
		return first, err
	}
	subject, body := "The repository has changed", detail
	if len(body) > mailbox.MaxBody {
		body = strings.ToValidUTF8(body[:mailbox.MaxBody-3], "") + "..."
	}
	_, err = a.Post(ctx, mailbox.Message{From: "monitor", To: "user", Subject: subject, Body: body})
	return first, err
}

// Settle records that a message to the person needs them no more.
func (a alone) Settle(ctx context.Context, id string) error {
	p, err := mail.Open(a.Plan.Root, time.Now)
	if err != nil {
		return err
	}
	return p.Box.Record(ctx, mailbox.Delivery{ID: id, To: "user", State: mailbox.Confirmed, At: time.Now().UTC()})
}

// Limit is the limit of an account as the agent's own records have it.
func (a alone) Limit(account string) (run.Limit, error) {
	h := run.NewHistory(new(dag.Graph))
	_, err := a.EachAgentRecord(a.name, 0, func(rec *run.Record) {
		if rec.Type == run.Limited || rec.Type == run.Freed {
			h.Apply(rec)
		}
	})
	return h.Limits[account], err
}

// record enters what happened, and tells follow of it. The ends of tasks and what a turn
// said survive a power cut.
func record(ctx context.Context, book *run.Book, follow func(run.Record)) func(run.Record) error {
	return func(rec run.Record) error {
		defer follow(rec)
		if rec.Type == run.WorkEnded || rec.Type == run.Given || rec.Type == run.Replied {
			return book.Durable(ctx, rec)
		}
		return book.Append(ctx, rec)
	}
}

// follower takes and leaves the seat as the attempt goes.
func (s *seat) follower(spec *run.Spec) func(run.Record) {
	return func(rec run.Record) {
		if rec.Type == run.Active && spec.Terms.Sits {
			s.follow(rec.Activity)
		}
	}
}

// leave records that a standing agent was ended for good.
func (o Options) leave(ctx context.Context, r *run.Run, book *run.Book, end *run.End) (code int, err error) {
	err = book.Durable(ctx, run.Record{Type: run.AttemptEnd, Node: o.Node, Attempt: o.Attempt, End: end})
	if err == nil {
		err = r.DropSpec(o.Node, o.Attempt)
	}
	fmt.Fprintf(o.Out, "── %s: %s ──\n", o.Node, endText(end))
	if err != nil {
		return ExitError, err
	}
	return end.Marker(), nil
}

// goOn is the command that has an attempt go on that was broken off.
func goOn(s *run.Spec) string {
	if s.Terms.Stays {
		return "cmux start"
	}
	return "cmux agents resume"
}

// errNoMember says that a spec in the organization's folder is of no standing
// agent.
var errNoMember = errors.New("the spec names no standing agent")
