package stdio

import (
	"context"
	"fmt"
	"strings"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/agents/records/event"
)

// Question is something that the program waits to have decided by a person.
type Question struct {
	question.Question
	ID     string // names it in Withdraw
	Answer func(ctx context.Context, text string) error
}

// Ask puts a question to a person: the first that is open in the pane and to
// the attempt, the others after it.
func (s *Session) Ask(q Question) {
	s.ask.Lock()
	defer s.ask.Unlock()
	s.asked = append(s.asked, &q)
	s.put()
}

// put shows the question that is open now, once. It needs the lock.
func (s *Session) put() {
	if len(s.asked) == 0 || s.asked[0] == s.shown {
		return
	}
	q := s.asked[0]
	s.shown = q
	s.Stage.Show(event.Event{Kind: event.Question, Text: q.String()})
	fmt.Fprintf(s.Stage.Out, "── answer here, or: cmux agents answer %s TEXT\n", s.Stage.Name)
	s.Tell(news.Asked{Question: q.Question, Shown: true})
}

// Asking reports whether a question is open.
func (s *Session) Asking() bool {
	s.ask.Lock()
	defer s.ask.Unlock()
	return len(s.asked) > 0
}

// Resolve gives the open question its answer, if there is one.
func (s *Session) Resolve(ctx context.Context, text string) (was bool, err error) {
	s.ask.Lock()
	if len(s.asked) == 0 {
		s.ask.Unlock()
		return false, nil
	}
	q := s.asked[0]
	s.asked = s.asked[1:]
	s.ask.Unlock()
	err = q.Answer(ctx, text)
	s.ask.Lock()
	defer s.ask.Unlock()
	s.put()
	return true, err
}

// Withdraw forgets a question that needs no answer any more; all of them when
// id is empty.
func (s *Session) Withdraw(id string) {
	s.ask.Lock()
	defer s.ask.Unlock()
	for i := 0; i < len(s.asked); i++ {
		if id != "" && s.asked[i].ID != id {
			continue
		}
		s.asked = append(s.asked[:i], s.asked[i+1:]...)
		if i == 0 {
			s.Tell(news.WentOn{})
			s.put()
		}
		i--
	}
}

// typed takes a line that a person typed: the answer to the open question, else
// a prompt.
func (s *Session) typed(ctx context.Context, line string) {
	if line = strings.TrimSpace(event.Printable(line)); line == "" {
		return
	}
	s.ask.Lock()
	open := len(s.asked) > 0
	s.ask.Unlock()
	if open {
		s.Tell(news.WentOn{})
		s.Stage.Keep(event.Event{Kind: event.Answer, Text: line}) // the pane shows what was typed
		if was, err := s.Resolve(ctx, line); was {
			if err != nil {
				s.Note("the answer did not arrive: %v", err)
			}
			return
		}
	}
	s.options.Typed(ctx, line)
}
