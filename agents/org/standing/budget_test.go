package standing

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/records/mail"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

func TestUsedOn(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	var s State
	at := func(rec run.Record, at time.Time) { rec.At = at; s.Apply(&rec) }
	at(run.Record{Type: run.Started, Attempt: 1}, noon)
	at(run.Record{Type: run.Used, Attempt: 1, Used: dag.Usage{Input: 100}}, noon)
	at(run.Record{Type: run.Used, Attempt: 1, Used: dag.Usage{Input: 150}}, noon.Add(11*time.Hour))
	if got := s.UsedOn(noon).Counted(); got != 150 {
		t.Errorf("on the first day %d", got)
	}
	at(run.Record{Type: run.Used, Attempt: 1, Used: dag.Usage{Input: 160}}, noon.Add(13*time.Hour))
	at(run.Record{Type: run.Started, Attempt: 2}, noon.Add(14*time.Hour))
	at(run.Record{Type: run.Used, Attempt: 2, Used: dag.Usage{Input: 7}}, noon.Add(15*time.Hour))
	if got := s.UsedOn(noon.Add(20 * time.Hour)).Counted(); got != 17 {
		t.Errorf("on the second day %d", got)
	}
	if got := s.UsedOn(noon.Add(48 * time.Hour)).Counted(); got != 0 {
		t.Errorf("on the third day %d", got)
	}
	if s.Used.Counted() != 167 {
		t.Errorf("in all %d", s.Used.Counted())
	}
}

// Whatever a program counts in a conversation, it tells again in each life that resumes
// the conversation. The agent has used it once.
func TestUsedOnceInAConversation(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s State
		apply := func(rec run.Record) { rec.At = at(1); s.Apply(&rec) }
		var all int64
		total := make(map[string]int64) // by conversation, as its program counts
		conversations := 0
		for life := 1; life < 8; life++ {
			counted, in := s.counted(), s.Conversation
			apply(run.Record{Type: run.Started, Attempt: life})
			if in == "" {
				conversations++
				in = fmt.Sprint("c", conversations)
				apply(run.Record{Type: run.Conversed, Attempt: life, Conversation: in})
			}
			used := dag.Usage{Input: total[in]}.Beyond(counted) // what it finds in its conversation
			for range r.IntN(4) {
				more := r.Int64N(100)
				all, total[in] = all+more, total[in]+more
				used = used.AtLeast(dag.Usage{Input: total[in]}.Beyond(counted))
				if r.IntN(3) > 0 { // else the life is killed before it records it, or records more
					apply(run.Record{Type: run.Used, Attempt: life, Used: used})
				}
			}
			if r.IntN(2) == 0 { // an orderly end
				apply(run.Record{Type: run.Used, Attempt: life, Used: used})
				apply(run.Record{Type: run.AttemptEnd, Attempt: life, End: &run.End{Outcome: dag.Done, Conversation: in}})
			} else {
				apply(run.Record{Type: run.Vanished, Attempt: life, How: run.HowLost})
			}
			if r.IntN(5) == 0 {
				apply(run.Record{Type: run.Used, Attempt: life, Used: used})
				apply(run.Record{Type: run.Reset})
			}
		}
		// The newest life tells what those before were killed too early to record.
		counted, in := s.counted(), s.Conversation
		apply(run.Record{Type: run.Started, Attempt: 8})
		apply(run.Record{Type: run.Used, Attempt: 8, Used: dag.Usage{Input: total[in]}.Beyond(counted)})
		if s.Used.Input != all {
			t.Fatalf("seed %d: the agent has used %d, by its records %d", seed, all, s.Used.Input)
		}
	}
}

// A spent budget takes an agent's work back and keeps mail and tasks from it until
// midnight, and the person is told once; a clock that jumps forth and back too.
func TestBudgetOfTheDay(t *testing.T) {
	w := newWorld(t)
	w.noon()
	set := w.org().Settings
	set.Budgets = Budgets{Worker: 1000}
	if err := w.org().Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	stop := w.keep()
	w.answered(w.spawn("api"))
	w.until("a life", w.lives1("api", 1))
	id := w.add("Write it", "api", task.Normal)
	w.until("it has the task", func(o *Org) bool { return o.Agents["api"].Work != nil })
	w.mu.Lock()
	l := w.lives["api"]
	l.record(run.Record{Type: run.Used, At: w.now(), Used: dag.Usage{Input: 1200}})
	w.mu.Unlock()
	w.until("its work is taken back", func(*Org) bool { return len(w.takes("api")) == 1 })
	w.mu.Lock()
	l.record(run.Record{Type: run.WorkEnded, Key: id, End: &run.End{Outcome: dag.Cancelled}})
	l.record(run.Record{Type: run.Active, Activity: dag.Resting})
	w.mu.Unlock()
	w.until("it is limited", func(o *Org) bool {
		word, why := o.Agents["api"].Stands(w.now(), false)
		return word == Limited && strings.Contains(why, "1.2k of its 1k tokens of today")
	})
	sent := w.send("user", "api", "hello")
	w.until("the mail says why it waits", func(*Org) bool { return strings.HasPrefix(w.whyWaits(sent, "api"), "the end of a limit at ") })
	if err := stop(); err != nil { // another keeper tells nobody again
		t.Fatal(err)
	}
	stop = w.keep()
	w.until("it lives", w.lives1("api", 1))
	if all := w.mailFor("user"); len(all) != 1 || !strings.HasPrefix(all[0], "[SYS] api is limited until midnight") {
		t.Errorf("the person was told %q", all)
	}
	if got := w.told("api"); len(got) != 0 || len(w.gives("api")) != 1 {
		t.Errorf("it was told %v", got)
	}
	w.ahead.Add(int64(25 * time.Hour)) // a day later, or a clock that jumped
	w.send("user", "api", "wakes the keeper")
	w.until("it gets its mail and its task", func(*Org) bool { return count(w.told("api"), sent) == 1 && len(w.gives("api")) == 2 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if got := w.task(id); got.State != task.Working {
		t.Errorf("the task is %s", got.State)
	}
}

// noon has the keeper's clock at noon of today: no test meets midnight.
func (w *world) noon() {
	now := time.Now()
	w.ahead.Store(int64(time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, time.Local).Sub(now)))
}

// now is what the keeper's clock shows.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// whyWaits is what a message waits for.
func (w *world) whyWaits(id, to string) string {
	w.t.Helper()
	box, err := mail.Box(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	var l mailbox.Ledger
	if _, err := l.Load(box, new(mailbox.Places)); err != nil {
		w.t.Fatal(err)
	}
	a, err := mailbox.ParseAddress(to)
	if err != nil {
		w.t.Fatal(err)
	}
	return l.Status(id, a).Why
}

// What agents that were removed used counts for the budget of all, by a keeper
// that begins after it too, and a removal that is carried out twice counts once. A
// budget holds although the mailbox cannot be written.
func TestBudgetOfAll(t *testing.T) {
	w := newWorld(t)
	w.noon()
	if err := os.Mkdir(filepath.Join(run.Folder(w.root), mailbox.Name), 0o700); err != nil {
		t.Fatal(err)
	}
	set := w.org().Settings
	set.Budgets = Budgets{All: 1000}
	if err := w.org().Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	stop := w.keep()
	uses := func(name string, tokens int64) {
		w.answered(w.spawn(name))
		w.until("a life", w.lives1(name, 1))
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lives[name].record(run.Record{Type: run.Used, At: w.now(), Used: dag.Usage{Input: tokens}})
	}
	uses("w1", 600)
	if a := w.answered(w.ask(OpKill, "w1", Ask{})); a.Refused != "" {
		t.Fatal(a.Refused)
	}
	gone := w.until("it is gone", func(o *Org) bool { return o.Agents["w1"] == nil }).left
	for id, s := range gone {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again := run.Record{Type: run.Noted, Key: keyLeft, Request: id, Value: string(b)}
		if err := w.org().Record(t.Context(), again); err != nil {
			t.Fatal(err)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	w.keep()
	uses("api", 500)
	uses("web", 1)
	for _, name := range []string{"api", "web"} {
		w.until(name+" is limited", func(o *Org) bool {
			_, why := o.Agents[name].Spent(w.now())
			return why == "all agents have used 1.1k of their 1k tokens of today"
		})
	}
	if got := w.org().left.on(dayOf(w.now().Add(24 * time.Hour))); got != 0 {
		t.Errorf("on the next day %d", got)
	}
}

// A turn of a supervisor that goes on when its budget is spent is broken off, once in a
// while; one that has ended is not.
func TestBudgetEndsTurns(t *testing.T) {
	w := newWorld(t)
	w.noon()
	set := w.org().Settings
	set.Budgets = Budgets{Supervisor: 1000}
	if err := w.org().Set(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if err := w.org().Join(t.Context(), run.Member{Name: Supervisor, Role: Supervisor, ID: "ag_1", Dir: w.root, Kind: "scripted"}, ""); err != nil {
		t.Fatal(err)
	}
	w.keep()
	w.until("a life", w.lives1(Supervisor, 1))
	record := func(rec run.Record) {
		w.mu.Lock()
		defer w.mu.Unlock()
		rec.At = w.now()
		w.lives[Supervisor].record(rec)
	}
	broken := func(n int) func(*Org) bool {
		return func(*Org) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.ended[Supervisor] == n
		}
	}
	record(run.Record{Type: run.Active, Activity: dag.Working})
	record(run.Record{Type: run.Used, Used: dag.Usage{Input: 900}})
	record(run.Record{Type: run.Used, Used: dag.Usage{Input: 1200}})
	w.until("its turn is broken off", broken(1))
	w.ahead.Add(int64(turnRest + time.Second))
	record(run.Record{Type: run.Used, Used: dag.Usage{Input: 1300}})
	w.until("and again, as it goes on", broken(2))
	record(run.Record{Type: run.Active, Activity: dag.Resting})
	w.ahead.Add(int64(turnRest + time.Second))
	sent := w.send("user", Supervisor, "hello")
	w.until("its mail waits", func(*Org) bool {
		return strings.HasPrefix(w.whyWaits(sent, Supervisor), "the end of a limit at ")
	})
	if !broken(2)(nil) {
		t.Error("a turn that had ended was broken off")
	}
}
