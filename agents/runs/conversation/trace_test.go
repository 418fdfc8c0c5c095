package conversation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/owner"
)

// TestTraces plays conversations from testdata. A line that begins with > is an
// event; +30s before it lets time pass. "busy" starts a turn whose end will be held,
// "in-turn" a turn whose end is only observed. After each event come its effects, and
// the phase in brackets. A line that begins with # is a comment, a line with = changes
// the configuration.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no traces", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trace"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := trace(t, string(b))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(b) {
				t.Errorf("the trace differs (-update rewrites it):\n%s", got)
			}
		})
	}
}

// trace plays the events of a text, and returns the text with their effects.
func trace(t *testing.T, text string) string {
	c := Config{Terms: owner.Terms{Group: "agents"}, Name: "api", Reports: true, Pause: 30 * time.Second, Settle: 10 * time.Minute, Parting: 10 * time.Second}
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s, begun := State{}, false
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			b.WriteString(line + "\n")
		case strings.HasPrefix(line, "= "):
			b.WriteString(line + "\n")
			for _, word := range strings.Fields(line[2:]) {
				switch word {
				case "stays":
					c.Stays, c.Group = true, "workers"
				case "replies":
					c.Replies = true
				case "keeps":
					c.Keeps = true
				case "headless":
					c.Unattended = true
				case "code":
					c.Reports = false
				case "ask-at-limit":
					c.AskAtLimit = true
				case "hour":
					c.InputTimeout = time.Hour
				default:
					t.Fatalf("%s: what is that?", line)
				}
			}
		case strings.HasPrefix(line, "> "):
			if !begun {
				c.Unattended = c.Unattended && c.InputTimeout == 0
				s, begun = New(c), true
			}
			b.WriteString(line + "\n")
			words := line[2:]
			e := Event{}
			if words[0] == '+' {
				after, rest, _ := strings.Cut(words[1:], " ")
				d, err := time.ParseDuration(after)
				if err != nil {
					t.Fatal(err)
				}
				at, words = at.Add(d), rest
			}
			words, e.Busy = strings.CutPrefix(words, "busy ")
			words, e.InTurn = strings.CutPrefix(words, "in-turn ")
			e.At = at
			var err error
			if e.What, err = parse(words, at); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			before := s.Phase
			var effects []Effect
			s, effects = Step(s, e)
			for _, effect := range effects {
				fmt.Fprintf(&b, "    %s\n", format(effect))
			}
			if s.Phase != before {
				fmt.Fprintf(&b, "    [%s]\n", s.Phase)
			}
		}
	}
	return b.String()
}
