package conversation

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/testkit/agenttest/fuzzing"
)

// play is a conversation in which anything may happen that can.
func play(c chance) *player {
	config := Config{
		Name: "a", Reports: c.below(10) != 0, AskAtLimit: c.below(3) == 0,
		Pause: 30 * time.Second, Settle: time.Minute, Parting: time.Second,
	}
	config.Unattended = c.below(3) == 0
	if c.below(3) == 0 {
		config.Unattended, config.InputTimeout = false, time.Hour
	}
	if c.below(3) == 0 {
		config.Stays, config.Reports, config.Unattended, config.InputTimeout = true, true, false, 0
		config.Replies = c.below(2) == 0
	}
	p := newPlayer(c, config)
	for c.below(4) == 0 {
		p.feed(Answer{Text: fmt.Sprintf("early-%d", len(p.log))})
	}
	if config.Reports && !config.Stays && c.below(8) == 0 { // its wrapper is started again, after the program's end
		p.feed(LeftBehind{Detail: "it ended"})
	} else {
		p.feed(Begin{})
	}
	for range c.below(60) {
		if p.s.Phase == Closing || p.broken != "" {
			break
		}
		p.random()
		p.account()
	}
	return p
}

// rules are what holds whatever happens.
func rules(t *rapid.T) {
	p := play(byRapid{t})
	s := New(p.s.Config)
	for _, e := range p.log {
		s, _ = Step(s, e)
	}
	if !reflect.DeepEqual(s, p.s) {
		t.Errorf("played again it stands at\n%+v, not at\n%+v", s, p.s)
	}
	for _, end := range []What{Cancel{}, Stop{}, Break{}} {
		if s, _ := Step(p.s, Event{At: p.at, What: end}); s.Phase != Closing {
			t.Errorf("%T leaves it at %+v", end, s)
		}
	}
	p.helpful()
	p.account()
	if p.broken != "" {
		for _, e := range p.log {
			t.Logf("%v", format(e.What))
		}
		t.Fatal(p.broken)
	}
}

// cmux types nothing while a person or a question has the agent, nor into a screen
// that is not safe. A person's message is delivered once, or still waits, or is
// reported as undelivered. Every hook and every call gets one answer, every report
// one judgment. No report overtakes a message that came before it. There is always a
// way out, and the same events lead to it.
func TestRules(t *testing.T) { rapid.Check(t, rules) }

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzRules(f *testing.F) { f.Fuzz(rapid.MakeFuzz(rules)) }
