package mail

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/platform/seal/sealtest"
	"cmux/signals/mailbox"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// waiting reads "a", "b!" (urgent), "c!!" (interrupts), "d@10" (handed 10
// seconds ago), "e#3" (queued again after three tries), "f-8" (8 days old).
func waiting(t testing.TB, to, words string) (all []mailbox.Waiting) {
	addr, err := mailbox.ParseAddress(to)
	must(t, err)
	for _, w := range strings.Fields(words) {
		id := strings.TrimRight(w, "!@#-0123456789")
		rest := w[len(id):]
		m := mailbox.Waiting{Line: mailbox.Line{Message: mailbox.Message{ID: id, TS: noon.Add(-time.Minute), From: "supervisor", To: to, Subject: "x"}}, For: addr,
			Status: mailbox.Status{State: mailbox.Queued}}
		var n int
		if rest != "" {
			fmt.Sscanf(rest[1:], "%d", &n)
		}
		switch {
		case rest == "!!":
			m.Urgency = mailbox.Interrupt
		case rest == "!":
			m.Urgency = mailbox.Urgent
		case strings.HasPrefix(rest, "@"):
			m.State, m.Try, m.Status.At = mailbox.Handed, 1, noon.Add(-time.Duration(n)*time.Second)
		case strings.HasPrefix(rest, "#"):
			m.Try = n
		case strings.HasPrefix(rest, "-"):
			m.TS = noon.AddDate(0, 0, -n)
		}
		all = append(all, m)
	}
	return all
}

// said formats steps, each on a line.
func said(steps []Step) string {
	var out []string
	for _, s := range steps {
		line := s.How.String()
		for _, m := range s.Messages {
			line += " " + m.ID
		}
		if s.Why != "" {
			line += ": " + s.Why
		}
		if !s.Until.IsZero() {
			line += fmt.Sprintf(" (%.1fs)", s.Until.Sub(noon).Seconds())
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func TestRoute(t *testing.T) {
	for _, c := range []struct {
		what  string
		who   Recipient
		mail  string
		want  string
		to    string
		bytes int
	}{
		{"idle gets all that waits at once", Recipient{Stand: Idle}, "a b c", "paste a b c", "", 0},
		{"what comes within half a second goes together", Recipient{Stand: Idle, Last: noon.Add(-200 * time.Millisecond)}, "a b", "wait a b: more that may come (0.3s)", "", 0},
		{"and then at once", Recipient{Stand: Idle, Last: noon.Add(-500 * time.Millisecond)}, "a b", "paste a b", "", 0},
		{"a clock that was put back holds nothing up", Recipient{Stand: Idle, Last: noon.Add(time.Hour)}, "a", "paste a", "", 0},
		{"in a turn it waits", Recipient{Stand: InTurn}, "a b", "wait a b: the end of its turn", "", 0},
		{"the end of the turn is answered, without a pause", Recipient{Stand: Ending, Last: noon}, "a b", "answer a b", "", 0},
		{"urgent waits for a tool call", Recipient{Stand: InTurn}, "a b! c", "wait a b c: its next tool call", "", 0},
		{"urgent goes with it, and what was before it", Recipient{Stand: Calling}, "a b! c", "context a b; wait c: those before it", "", 0},
		{"patient does not", Recipient{Stand: Calling}, "a b", "wait a b: the end of its turn", "", 0},
		{"an interrupt breaks the turn off", Recipient{Stand: InTurn}, "a b! c!! d", "break a b c; wait d: those before it", "", 0},
		{"also in a tool call", Recipient{Stand: Calling}, "a!! b!", "break a; wait b: those before it", "", 0},
		{"never into a dialog", Recipient{Stand: Dialog, Detail: "trust this folder"}, "a!! b!", "wait a b: a dialog of its program: trust this folder", "", 0},
		{"a draft", Recipient{Stand: Draft}, "a!!", "wait a: a person who has typed something there", "", 0},
		{"copy mode", Recipient{Stand: CopyMode}, "a", "wait a: a person who reads back in its pane", "", 0},
		{"taken over", Recipient{Stand: TakenOver}, "a!!", "wait a: the end of a takeover", "", 0},
		{"limited", Recipient{Stand: Limited, Until: noon.Add(time.Hour)}, "a", "wait a: the end of a limit at 13:00 (3600.0s)", "", 0},
		{"limited for who knows how long", Recipient{Stand: Limited}, "a", "wait a: the end of a limit", "", 0},
		{"frozen", Recipient{Stand: Frozen}, "a!!", "wait a: its program, which does not answer", "", 0},
		{"dead", Recipient{Stand: Dead}, "a", "wait a: its program, which has ended", "", 0},
		{"nobody", Recipient{}, "a", "wait a: there is no such agent", "", 0},
		{"one on its way holds the others up", Recipient{Stand: Idle}, "a@10 b", "wait b: the confirmation of message a (20.0s)", "", 0},
		{"alone it is only waited for", Recipient{Stand: Idle}, "a@10", "wait (20.0s)", "", 0},
		{"not confirmed in time it is looked for", Recipient{Stand: Idle}, "a@30 b", "look a; wait b: the confirmation of message a", "", 0},
		{"of the dead at once", Recipient{Stand: Dead}, "a@1", "look a", "", 0},
		{"what was recorded in the future is looked for", Recipient{Stand: Idle}, "a@-60", "look a", "", 0},
		{"tried too often", Recipient{Stand: Idle}, "a#3 b", "fail a: the message was handed over 3 times and never confirmed; paste b", "", 0},
		{"not often enough", Recipient{Stand: Idle}, "a#2", "paste a", "", 0},
		{"too old", Recipient{Stand: InTurn}, "a-8 b", "expire a: the message waited longer than 7 days; wait b: the end of its turn", "", 0},
		{"one alone may be long", Recipient{Stand: Idle}, "a", "paste a", "", 9000},
		{"long ones do not go together", Recipient{Stand: Idle}, "a b c", "paste a b; wait c: those before it", "", 3000},
		{"a person is told", Recipient{}, "a b-30", "notify a b", "user", 0},
		{"and then left alone", Recipient{}, "a@9999", "", "user", 0},
		{"for all", Recipient{}, "a b", "spread a b", "all", 0},
		{"a node of a run", Recipient{Stand: Idle}, "a", "paste a", "node:api", 0},
	} {
		if c.to == "" {
			c.to = "w1"
		}
		size := func(*mailbox.Line) int { return max(c.bytes, 10) }
		got := said(Route(noon, waiting(t, c.to, c.mail), func(mailbox.Address) Recipient { return c.who }, size, Usual()))
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got, c.want)
		}
	}
}

// A recipient with a queue gets later messages at once.
func TestRouteToAQueue(t *testing.T) {
	rules := Usual()
	rules.Queues = true
	for _, c := range []struct {
		what  string
		who   Recipient
		mail  string
		bytes int
		want  string
	}{
		{"behind what is on its way", Recipient{Stand: Idle}, "a@10 b!", 0, "paste b"},
		{"however long that is", Recipient{Stand: Idle}, "a@9999 b c!!", 0, "paste b c"},
		{"what is on its way needs nothing", Recipient{Stand: Idle}, "a@9999", 0, ""},
		{"nothing to who is gone", Recipient{Stand: Dead}, "a@10 b", 0, "wait b: its program, which has ended"},
		{"nor to who does not answer", Recipient{Stand: Frozen}, "a@10 b!!", 0, "wait b: its program, which does not answer"},
		{"the rest in a moment", Recipient{Stand: Idle}, "a@10 b c d", 5000, "paste b; wait c d: those before it (0.5s)"},
		{"messages that arrive together are delivered together", Recipient{Stand: Idle, Last: noon}, "a@0 b", 0, "wait b: more that may come (0.5s)"},
		{"nobody reads what it has any more", Recipient{Stand: Over, Detail: "it is over"}, "a@1 b", 0, "fail a: it is over, before it had read it; fail b: it is over"},
	} {
		size := func(*mailbox.Line) int { return max(c.bytes, 10) }
		got := said(Route(noon, waiting(t, "w1", c.mail), func(mailbox.Address) Recipient { return c.who }, size, rules))
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got, c.want)
		}
	}
}

// Each recipient has its own queue, in the order of the mailbox.
func TestRouteOfSeveral(t *testing.T) {
	mail := append(append(waiting(t, "w1", "a"), waiting(t, "w2", "b")...), waiting(t, "w1", "c")...)
	steps := Route(noon, mail, func(a mailbox.Address) Recipient {
		return Recipient{Stand: map[string]Stand{"w1": Idle, "w2": Dialog}[a.Name]}
	}, func(*mailbox.Line) int { return 1 }, Usual())
	if got := said(steps); got != "paste a c; wait b: a dialog of its program" {
		t.Error(got)
	}
}

func TestRecords(t *testing.T) {
	mail := waiting(t, "w1", "a b#1")
	mail[0].Why = "a dialog of its program"
	for _, c := range []struct {
		s    Step
		want string
	}{
		{Step{How: Paste}, "a handed 1, b handed 2"},
		{Step{How: Notify}, "a handed 1, b handed 2"},
		{Step{How: Wait, Why: "a dialog of its program"}, "b queued 0"},
		{Step{How: Wait, Why: "x", Brief: true}, ""},
		{Step{How: Expire}, "a expired 0, b expired 0"},
		{Step{How: Fail}, "a failed 0, b failed 0"},
		{Step{How: Look}, ""}, {Step{How: Spread}, ""},
	} {
		c.s.Messages, c.s.For = mail, mail[0].For
		var got []string
		for _, d := range c.s.Records(noon) {
			got = append(got, fmt.Sprintf("%s %s %d", d.ID, d.State, d.Try))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s", c.s.How, got, c.want)
		}
	}
	to := func(names ...string) (all []mailbox.Address) {
		for _, n := range names {
			all = append(all, mailbox.Address{Name: n})
		}
		return all
	}
	s := Step{How: Spread, For: mailbox.Address{Kind: mailbox.All}, Messages: waiting(t, "all", "a")}
	if all := s.SpreadTo(noon, to("supervisor", "w1", "w2")); len(all) != 2 || all[0].To != "w1" || all[1].State != mailbox.Queued {
		t.Errorf("%+v", all)
	}
	if all := s.SpreadTo(noon, to("supervisor")); len(all) != 1 || all[0].To != "all" || all[0].State != mailbox.Confirmed {
		t.Errorf("%+v", all)
	}
}

// world is a project whose server and agents are killed at random times.
type world struct {
	t     *testing.T
	rnd   *rand.Rand
	box   *mailbox.Box
	now   time.Time
	stand map[string]Stand
	told  map[string][]string // agent -> ids in its conversation
	last  map[string]time.Time
	wrote map[string][]string
}

// serve is one look of a server that starts from the files and may be killed between any
// two steps.
func (w *world) serve(dies int) {
	var l mailbox.Ledger
	_, err := l.Load(w.box, new(mailbox.Places))
	must(w.t, err)
	do := func(f func()) bool {
		if dies == 0 {
			return false
		}
		dies--
		f()
		return true
	}
	rules := Usual()
	rules.Tries = 1000 // many messages are lost here
	who := func(a mailbox.Address) Recipient { return Recipient{Stand: w.stand[a.Name], Last: w.last[a.Name]} }
	for _, s := range Route(w.now, l.Waiting(), who, func(m *mailbox.Line) int { return len(Text("/p", m)) }, rules) {
		name := s.For.Name
		if len(s.Records(w.now)) > 0 && !do(func() { must(w.t, w.box.Record(w.t.Context(), s.Records(w.now)...)) }) {
			return
		}
		switch {
		case s.How.Hands():
			if st := w.stand[name]; st == Dialog || st == Draft || st == CopyMode || st == TakenOver || st == Dead || st == Frozen || st == InTurn && s.How != Break {
				w.t.Fatalf("%s into %v", s.How, st)
			}
			var lines []*mailbox.Line
			for _, m := range s.Messages {
				lines = append(lines, &m.Line)
			}
			ids := Seen(Text("/p", lines...))
			if !do(func() {
				if w.rnd.IntN(5) > 0 { // else the message is lost
					w.told[name] = append(w.told[name], ids...)
				}
				w.last[name] = w.now
			}) {
				return
			}
			if w.rnd.IntN(2) == 0 && !do(func() { w.look(&s) }) { // the prompt hook confirms
				return
			}
		case s.How == Look:
			if !do(func() { w.look(&s) }) {
				return
			}
		case s.How == Spread:
			if !do(func() {
				must(w.t, w.box.Record(w.t.Context(), s.SpreadTo(w.now, []mailbox.Address{{Name: "w0"}, {Name: "w1"}})...))
			}) {
				return
			}
		case s.How == Fail || s.How == Expire:
			w.t.Fatalf("%s %v", s.How, s.Messages)
		}
	}
}

func (w *world) look(s *Step) {
	must(w.t, w.box.Record(w.t.Context(), s.Looked(w.now, func(id string) bool { return slices.Contains(w.told[s.For.Name], id) })...))
}

// Whichever process is killed at any time: each message reaches each recipient once, in
// order.
func TestDeliveredOnce(t *testing.T) {
	for seed := range uint64(6) {
		w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), now: noon, stand: map[string]Stand{}, told: map[string][]string{}, last: map[string]time.Time{}, wrote: map[string][]string{}}
		post, err := Open(t.TempDir(), func() time.Time { return w.now })
		must(t, err)
		post.Box.Lazy = true
		w.box = post.Box
		rules := Usual()
		for n := range 150 {
			w.now = w.now.Add(time.Duration(w.rnd.IntN(20000)) * time.Millisecond)
			for _, a := range []string{"w0", "w1"} {
				w.stand[a] = Stand(w.rnd.IntN(int(Over))) // nobody sends to an agent that is Over
			}
			if n < 100 && w.rnd.IntN(2) == 0 {
				to := []string{"w0", "w1", "all"}[w.rnd.IntN(3)]
				m, err := post.Send(t.Context(), mailbox.Message{From: "supervisor", To: to, Subject: "x", Body: "[a] b (message c)", Urgency: []mailbox.Urgency{"", "urgent", "interrupt"}[w.rnd.IntN(3)]}, true)
				must(t, err)
				for _, a := range []string{"w0", "w1"} {
					if to == a || to == "all" {
						w.wrote[a] = append(w.wrote[a], m.ID)
					}
				}
			}
			w.serve(w.rnd.IntN(6))
		}
		for range 100 * len(w.wrote["w0"]) {
			w.now = w.now.Add(rules.Confirm)
			w.stand = map[string]Stand{"w0": Idle, "w1": Idle}
			w.serve(1000)
			if len(w.told["w0"]) >= len(w.wrote["w0"]) && len(w.told["w1"]) >= len(w.wrote["w1"]) {
				break
			}
		}
		for _, a := range []string{"w0", "w1"} {
			if got, want := strings.Join(w.told[a], " "), strings.Join(w.wrote[a], " "); got != want {
				t.Fatalf("seed %d: %s was told\n%s\nwant\n%s", seed, a, got, want)
			}
		}
		if all, _ := filepath.Glob(filepath.Join(w.box.Dir, "mailbox*")); len(all) != 2 {
			t.Errorf("%v", all)
		}
	}
}
