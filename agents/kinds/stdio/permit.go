package stdio

import (
	"context"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/kinds/transcript"
	"cmux/agents/records/event"
)

// Leave is what the program asks leave for.
type Leave struct {
	ID     string // of the question, as in Withdraw
	Call   guard.Call
	What   string // it wants to do, for a person
	Allow  func(context.Context) error
	Refuse func(ctx context.Context, why string) error
}

// Permit answers a request for leave, or has a person answer it.
func (s *Session) Permit(p places.Policy, l Leave) {
	d := s.Judge(p, l.Call)
	switch d.Verdict {
	case guard.Allow:
		s.answered(l.Allow(s.Ctx))
	case guard.Deny:
		s.answered(l.Refuse(s.Ctx, d.Reason))
	case guard.Ask:
		s.Ask(Question{ID: l.ID, Question: question.Permit(l.What, "", question.Permission{Tool: l.Call.Tool, Command: event.Whole(l.Call.Input)}), Answer: func(ctx context.Context, text string) error {
			yes, why := question.Yes(text)
			if yes {
				return l.Allow(ctx)
			}
			return l.Refuse(ctx, why)
		}})
	}
}

// Judge decides about a call that the program asks leave for: what guard
// refuses never, and what it grants always; the rest is allowed with
// auto_accept, asked of a person in a pane, and refused where nobody is.
func (s *Session) Judge(p places.Policy, call guard.Call) guard.Decision {
	d := s.decide(guard.Decide(p, call))
	if d.Verdict == guard.Deny {
		s.Stage.Keep(event.Event{Kind: event.Denied, Tool: call.Tool, Input: call.Input, Text: d.Reason})
	}
	return d
}

func (s *Session) decide(d guard.Decision) guard.Decision {
	switch {
	case d.Verdict == guard.Grant:
		return guard.Decision{}
	case d.Verdict == guard.Deny || s.Stage.AutoAccept:
		return d
	case s.Stage.Terminal != nil:
		return guard.Decision{Verdict: guard.Ask, Reason: d.Reason}
	}
	return guard.Decision{Verdict: guard.Deny, Reason: guard.NobodyToAsk}
}

// Inquiry is what the agent asks a person, in one question or several.
type Inquiry struct {
	ID      string // as in Withdraw
	Call    guard.Call
	Options [][]string // of each question
	Reply   func(ctx context.Context, answers []string) error
	Nobody  func(ctx context.Context, why string) error // answers
}

// Inquire has a person answer the agent, where one is there.
func (s *Session) Inquire(p places.Policy, q Inquiry) {
	d := guard.Decide(p, q.Call)
	if d.Verdict != guard.Ask {
		s.answered(q.Nobody(s.Ctx, d.Reason))
		return
	}
	s.Ask(Question{ID: q.ID, Question: d.Question(q.Call), Answer: func(ctx context.Context, text string) error {
		return q.Reply(ctx, answers(text, q.Options))
	}})
}

// answers are those to each of the questions with these options.
func answers(text string, options [][]string) []string {
	all := question.Spread(text, len(options))
	for i := range all {
		all[i] = question.Option(all[i], options[i])
	}
	return all
}

// Reply answers a request of the program's at once.
func (s *Session) Reply(m Message, result any) { s.answered(s.Answer(s.Ctx, m.ID, result)) }

// Unknown refuses a request that cmux does not know.
func (s *Session) Unknown(m Message, code int, name string) {
	s.answered(s.Refuse(s.Ctx, m.ID, code, "cmux does not answer "+name))
}

func (s *Session) answered(err error) {
	if err != nil && s.Ctx.Err() == nil {
		s.Note("an answer did not arrive: %v", err)
	}
}

// Failed is what a turn means that a failing call of the model ended. login is
// how a person makes the model accept the account again.
func Failed(text string, f transcript.Failure, login string) news.Event {
	switch f.Cause {
	case transcript.Limit:
		return news.LimitMet{Text: text, Until: f.Until}
	case transcript.Auth:
		return news.Asked{Question: question.New("the model refuses the account: " + text + " (" + login + ")")}
	}
	return news.Faltered{Text: text, Lasting: f.Cause == transcript.Refused, Sure: f.Sure}
}
