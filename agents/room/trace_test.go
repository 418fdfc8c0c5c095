package room

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmux/agents/room/marks"
)

var update = flag.Bool("update", false, "rewrite the page and traces")

// TestTraces plays rooms from testdata. The first lines, which begin with =, are the
// settings and the members. A line that begins with > is an event; +30s before it lets time
// pass. After each event come its effects: + is a line that is appended, which is heard at
// once. A line that begins with # is a comment. What is in brackets is the room's label.
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
			got, w := trace(t, string(b))
			for _, b := range Check(w.file) {
				t.Error(b)
			}
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

// trace plays the events of a text. It returns the text with their effects, and the room.
func trace(t *testing.T, text string) (string, *world) {
	var b strings.Builder
	settings := Defaults()
	var w *world
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			b.WriteString(line + "\n")
		case strings.HasPrefix(line, "= "):
			b.WriteString(line + "\n")
			w = roomOf(t, &settings, line[2:])
		case strings.HasPrefix(line, "> "):
			b.WriteString(line + "\n")
			w.trace = func(shown string) { b.WriteString(shown) }
			words := line[2:]
			if words[0] == '+' {
				after, rest, _ := strings.Cut(words[1:], " ")
				d, err := time.ParseDuration(after)
				if err != nil {
					t.Fatal(err)
				}
				w.now, words = w.now.Add(d), rest
			}
			before := w.s.Label()
			w.hear(t, words)
			if w.broken != "" {
				t.Fatal(w.broken)
			}
			if label := w.s.Label(); label != before {
				fmt.Fprintf(&b, "    [%s]\n", label)
			}
		}
	}
	return b.String(), w
}

// roomOf is a room of settings and members: blind=off turns=2 policy=robin a b +guest.
func roomOf(t *testing.T, settings *Settings, words string) *world {
	var members, guests []string
	hangs := false
	for _, word := range strings.Fields(words) {
		key, value, is := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch {
		case strings.HasPrefix(word, "+"):
			guests = append(guests, word[1:])
		case word == "hangs": // no turn can be broken off
			hangs = true
		case !is:
			members = append(members, word)
		case key == "policy":
			settings.Policy = Policy(value)
		case key == "blind":
			settings.Blind = value == "on"
		case key == "turns":
			settings.Turns = n
		case key == "tokens":
			settings.Tokens.Round = int64(n)
		case key == "judge":
			settings.Judge = value
		case key == "moderator":
			settings.Moderator = value
		case key == "decide":
			settings.Decide = value
		default:
			t.Fatalf("%s: what is that?", word)
		}
	}
	w := newWorld(calm{hangs}, *settings, members...)
	for _, name := range guests {
		w.join(name, true)
	}
	for _, name := range members {
		w.programs[name].is = Idle
		w.stands(name)
	}
	return w
}

// calm is no chance at all: programs do what they are told.
type calm struct{ hangs bool }

func (c calm) below(n int) int {
	if c.hangs && n == 2 {
		return 0
	}
	return n - 1
}

// hear plays an event: "user: text", "user to a: text", "a says text", "a is limited",
// "a took", "pause", "stop a", "rings gather", "killed", "asks D1", "decides D1 accepted".
func (w *world) hear(t *testing.T, words string) {
	if who, text, is := strings.Cut(words, ": "); is {
		by, to, _ := strings.Cut(who, " to ")
		w.say(by, to, text)
		return
	}
	f := strings.Fields(words)
	open := func() string { return w.s.member(f[0]).Turn }
	switch {
	case len(f) > 2 && f[1] == "says":
		w.ends(f[0], Replied{Turn: open(), Text: strings.ReplaceAll(strings.TrimPrefix(words, f[0]+" says "), `\n`, "\n"), Used: 100})
	case len(f) > 1 && f[1] == "took":
		w.programs[f[0]].taken = append(w.programs[f[0]].taken, open())
		w.step(Took{open()})
	case len(f) > 1 && f[1] == "fails":
		w.ends(f[0], Failed{Turn: open(), How: HowFailed, Why: strings.Join(f[2:], " ")})
	case len(f) > 1 && f[1] == "crashes":
		p := w.programs[f[0]]
		p.is, p.crashed, p.turn, p.has = Off, true, "", map[string]bool{}
		w.stands(f[0])
	case len(f) > 2 && f[1] == "is":
		p := w.programs[f[0]]
		for s := Unknown; s <= Down; s++ {
			if s.String() == strings.Join(f[2:], " ") {
				p.is = s
			}
		}
		w.stands(f[0])
	case f[0] == "rings":
		c := Clock{Kind: Ring(f[1])}
		if len(f) > 2 {
			c.Turn = f[2]
		}
		if at := w.clocks[c]; at.IsZero() {
			t.Fatalf("%s: no such clock runs", words)
		} else if at.After(w.now) {
			w.now = at
		}
		delete(w.clocks, c)
		w.step(Rang{c})
	case f[0] == "killed":
		w.restart()
	case f[0] == "leaves":
		w.write(Line{Kind: KindLeft, Name: f[1], Why: "dismissed"})
	case f[0] == "joins":
		w.join(f[1], false)
	case f[0] == "asks":
		s := Fold("r", w.file)
		w.write(s.Ask(s.Decision(f[1]), User))
	case f[0] == "decides":
		s := Fold("r", w.file)
		d := s.Decision(f[1])
		w.write(d.Decide(w.now, User, Verdict(f[2]), d.Text))
		s = Fold("r", w.file)
		w.write(s.Outcome(s.Decision(d.ID), s.Decision(d.ID).Decided))
	default:
		do, count, names := Do(f[0]), 0, f[1:]
		if len(names) > 0 {
			if n, err := strconv.Atoi(names[0]); err == nil {
				count, names = n, nil
			}
		}
		w.order(do, count, names...)
	}
}

// TestFloods holds that one answer proposes and hands off so much and no more, and its author
// is told.
func TestFloods(t *testing.T) {
	settings := Defaults()
	w := roomOf(t, &settings, "policy=once a b")
	w.hear(t, "user: which?")
	w.hear(t, "a took")
	w.hear(t, "a says "+strings.Repeat("[HANDOFF:nobody] look. ", 3000)+`\n\n`+strings.Repeat(`[DECISION] this one\n\n`, 3000))
	proposed, told := 0, 0
	for _, l := range w.file {
		switch {
		case l.Kind == KindProposed:
			proposed++
		case l.Kind == KindSaid && l.By == Cmux && l.To == "a":
			told++
		}
	}
	if proposed != mostProposed || told != mostProposed+1 {
		t.Errorf("%d proposals, %d notices", proposed, told)
	}
}

// TestWakes holds who is woken, by policy.
func TestWakes(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		by, to string
		text   string
		want   string
	}{
		{Everybody, User, "", "hello", "a b c"},
		{Everybody, User, "", "hello @b", "b"},
		{Everybody, User, "", "hello @all and @b", "a b c"},
		{Everybody, User, "c", "hello @b", "c"},
		{Everybody, User, "nobody", "hello", ""},
		{Everybody, "a", "", "I think so", "b c"},
		{Everybody, "a", "", "@b?", "b"},
		{Everybody, "a", "", "[HANDOFF:c] see to it.", "c"},
		{Everybody, "a", "", "+1 b", ""},
		{Everybody, "a", "", "+1 b, +1 c.", ""},
		{Everybody, "a", "", "+1 b but slower", "b c"},
		{Everybody, User, "", "+1 b", "a b c"},
		{Everybody, "g", "", "hello", "a b c"},
		{Everybody, "a", User, "for you alone", ""},
		{Once, User, "", "hello", "a b c"},
		{Once, "a", "", "@b?", ""},
		{Robin, User, "", "hello @b", "a b c"},
		{Robin, "b", "", "so it is", "a c"},
		{Mentioned, User, "", "hello", ""},
		{Mentioned, User, "", "hello @c", "c"},
		{Mentioned, "c", "", "@a", "a"},
		{Moderator, User, "", "hello @b", "a"},
		{Moderator, "b", "", "done @c", "a"},
		{Moderator, "a", "", "@c please", "c"},
		{Moderator, "a", "", "thanks", ""},
		{Debate, User, "", "which?", "a b"},
		{Debate, "a", "", "this one", "b c"},
		{Debate, "c", "", "a is right", ""},
	} {
		s := New("r")
		s.Settings.Policy, s.Settings.Moderator, s.Settings.Judge = c.policy, "a", "c"
		for _, name := range []string{"a", "b", "c", "g"} {
			s.join(&Line{Name: name, Guest: name == "g"})
		}
		got := strings.Join(s.Wakes(c.by, c.to, marks.Answer{Pieces: marks.Pieces(c.text, s.Names())}), " ")
		if got != c.want {
			t.Errorf("%s: %s to %q says %q: wakes %q, want %q", c.policy, c.by, c.to, c.text, got, c.want)
		}
	}
}
