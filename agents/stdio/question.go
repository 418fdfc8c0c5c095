package stdio

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"cmux/agents/agent"
	"cmux/agents/event"
	"cmux/agents/guard"
)

// Question is something that the program waits to have decided by a person.
type Question struct {
	ID     string // names it in Withdraw
	Text   string
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
	s.Stage.Show(event.Event{Kind: event.Question, Text: q.Text})
	fmt.Fprintf(s.Stage.Out, "── answer here, or: cmux agents answer %s TEXT\n", s.Stage.Name)
	s.Tell(agent.Event{What: agent.Asked, Text: q.Text, Shown: true})
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
			s.Tell(agent.Event{What: agent.WentOn})
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
		s.Tell(agent.Event{What: agent.WentOn})
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

// Judge decides about a call that the program asks leave for: what guard
// refuses never, and what it grants always; the rest is allowed with
// auto_accept, asked of a person in a pane, and refused where nobody is.
func (s *Session) Judge(p guard.Policy, call guard.Call) guard.Decision {
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

// shells are those in which programs wrap commands: by name, or where systems
// keep them. Another of such a name may be an agent's own.
var shells = regexp.MustCompile(`^(/bin/|/usr/bin/|/usr/local/bin/|/opt/homebrew/bin/)?(bash|zsh|sh)$`)

// Inner is the command in `/bin/bash -lc '…'`, as far as that is plain.
func Inner(command string) string {
	w, ok := words(command)
	if ok && len(w) == 3 && (w[1] == "-c" || w[1] == "-lc") && shells.MatchString(w[0]) {
		return w[2]
	}
	return command
}

// words are those of a shell command that is nothing but words: no list, pipe,
// redirection, expansion or comment.
func words(command string) (all []string, ok bool) {
	var word strings.Builder
	open := false // a word has begun
	end := func() {
		if open {
			all = append(all, word.String())
			word.Reset()
			open = false
		}
	}
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == ' ' || c == '\t':
			end()
			continue
		case c == '\'':
			n := strings.IndexByte(command[i+1:], '\'')
			if n < 0 {
				return nil, false
			}
			word.WriteString(command[i+1 : i+1+n])
			i += n + 1
		case c == '"':
			for i++; ; i++ {
				if i >= len(command) || command[i] == '$' || command[i] == '`' {
					return nil, false
				}
				if command[i] == '"' {
					break
				}
				if command[i] == '\\' && i+1 < len(command) && strings.IndexByte("\"\\$`", command[i+1]) >= 0 {
					i++
				}
				word.WriteByte(command[i])
			}
		case c == '\\' && i+1 < len(command) && command[i+1] != '\n':
			i++
			word.WriteByte(command[i])
		case strings.IndexByte("\\\r\n;&|<>()$`*?[]{}~#!=", c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
		}
		open = true
	}
	end()
	return all, true
}
