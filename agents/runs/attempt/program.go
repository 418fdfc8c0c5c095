package attempt

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/conversation"
)

// program is the agent of an attempt, with its abilities.
type program struct {
	agent.Agent // nil: none now
}

// hasEnded reports whether there is a program that has ended.
func (p program) hasEnded() bool {
	if p.Agent == nil {
		return false
	}
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}

// able returns the event that tells the conversation the program's abilities.
func (p program) able() conversation.Started {
	_, concludes := p.Agent.(agent.Concluder)
	b, breaks := p.Agent.(agent.Breaker)
	t, steers := p.Agent.(agent.Turner)
	c, compacts := p.Agent.(agent.Compacter)
	silent, _ := p.Agent.(agent.Silent)
	return conversation.Started{
		Concludes: concludes, Breaks: breaks && b.CanBreakOff(), Steers: steers && t.Steers(), Compacts: compacts && c.CanCompact(),
		Recalls: p.recaller() != nil, Quiet: silent != nil && silent.ToldNothing(),
	}
}

// recaller returns the reader of the program's conversation; nil: the kind has none.
func (p program) recaller() agent.Recaller {
	if r, ok := p.Agent.(agent.Recaller); ok && r.CanRecall() {
		return r
	}
	return nil
}

// busy sets the program's current activity in an event.
func (p program) busy(e *conversation.Event) {
	if l, ok := p.Agent.(agent.Listener); ok {
		e.Busy = l.Busy()
	}
	if t, ok := p.Agent.(agent.Turner); ok {
		e.InTurn = t.InTurn()
	}
}

// understand parses a hook. A hook that comes before its agent has started is only a sign
// of life.
func (p program) understand(event string, payload json.RawMessage) ([]news.Event, Reply, error) {
	if h, ok := p.Agent.(agent.Hooked); ok {
		events, r, err := h.Hook(event, payload)
		return events, Reply{HookReply: r}, err
	}
	events, err := agent.ParseEvent(event, payload)
	return events, Reply{}, err
}

// typed returns lines that a person has sent and the agent has not read.
func (p program) typed() []string {
	if t, ok := p.Agent.(agent.Typed); ok {
		return t.Unread()
	}
	return nil
}

// draft returns what a person has typed and not sent.
func (p program) draft(ctx context.Context) string {
	if t, ok := p.Agent.(agent.Typed); ok {
		return t.Draft(ctx)
	}
	return ""
}

// refuses reports whether the program failed by itself because it cannot continue its
// conversation.
func (p program) refuses() bool {
	r, ok := p.Agent.(agent.Refuser)
	if !ok || !r.Refused() {
		return false
	}
	exit := p.Exit()
	return exit.Err == nil && !crashed(exit) && !byHand(exit)
}

// crashed reports whether a program ended in a way that nobody would choose to end an
// agent.
func crashed(e proc.Exit) bool {
	switch e.Signal {
	case syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS:
		return true
	}
	return false
}

// byHand reports whether a program ended as if told to: with 0, by a usual signal, or with
// such a signal's code.
func byHand(e proc.Exit) bool {
	if e.Err != nil {
		return false
	}
	signal := e.Signal
	if signal == 0 && e.Code > 128 {
		signal = syscall.Signal(e.Code - 128)
	}
	switch signal {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return signal == 0 && e.Code == 0
}

// maxWords is how many bytes of a program's last output a message quotes.
const maxWords = 300

// ending returns the end of what a program printed as one line, without cmux's own lines.
func ending(said string) string {
	var lines []string
	for line := range strings.Lines(output.Readable(said)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "── ") {
			lines = append(lines, line)
		}
	}
	said = strings.Join(lines, "; ")
	if n := len(said) - maxWords; n > 0 {
		said = "…" + strings.ToValidUTF8(said[n:], "")
	}
	return said
}

// withWords adds a program's last output to a text about its end.
func withWords(how, words string) string {
	if words == "" {
		return how
	}
	return how + ": " + words
}
