package examples

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
)

// account is a model's account that meets a limit once, whoever asks. It does so
// when the node third asks for its second turn and the node fourth waits for
// its own: both run then, and no slot is free.
type account struct {
	third, fourth string
	lasts         time.Duration
	fault         func(left time.Duration) mt.Fault

	mu         sync.Mutex
	begin, end time.Time     // of the limit; zero: not met yet
	seen       bool          // the test has seen what it is to see while the limit lasts
	both       chan struct{} // closed when fourth has come so far
	met        chan struct{} // closed when the limit is met
}

func newAccount(third, fourth string, fault func(time.Duration) mt.Fault) *account {
	return &account{third: third, fourth: fourth, lasts: 8 * time.Second, fault: fault, both: make(chan struct{}), met: make(chan struct{})}
}

// nodes are n agents of the account, as in a configuration, and their scripts.
func (a *account) nodes(n int) (config string, scripts []mt.Script) {
	for i := range n {
		name := fmt.Sprintf("n%02d", i+1)
		scripts = append(scripts, mt.Script{Name: name, Turns: []mt.Turn{
			a.answer(mt.Shell("true")), a.answer(mt.Report("read it")), a.answer(mt.Text("bye"))}})
		config += fmt.Sprintf("  - {name: %s, task: 'Read it. #script:%[1]s'}\n", name)
	}
	return config, scripts
}

// claudeProject is a project whose agents are asked by the scripted model. A
// subscription's account is told until when a limit lasts.
func claudeProject(t *testing.T, server *mt.Server, config string, subscription bool) *project {
	t.Helper()
	p := newProject(t, "shop")
	home := mt.Env(t, server, p.dir)
	if subscription {
		home.Subscribe()
	}
	var path string
	for _, e := range home.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	p.env = append(p.env, home.Env...)
	p.env = append(p.env, "PATH="+built(t)+string(os.PathListSeparator)+path)
	if err := os.WriteFile(filepath.Join(p.dir, ".cmux-agents.yml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// answer is the turn, or the limit.
func (a *account) answer(turn ...mt.Step) mt.Turn {
	return mt.Turn{mt.Func(func(r mt.Request) mt.Turn {
		if r.Turn == 1 && !a.isMet() {
			switch r.Script {
			case a.fourth:
				a.once(a.both)
				a.await(a.met)
			case a.third:
				a.await(a.both)
				a.meet()
			}
		}
		if left := a.left(); left > 0 {
			return mt.Turn{a.fault(left)}
		}
		return turn
	})}
}

func (a *account) once(ch chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-ch:
	default:
		close(ch)
	}
}

func (a *account) await(ch chan struct{}) {
	select {
	case <-ch:
	case <-time.After(deadline): // ends broken tests only
	}
}

func (a *account) isMet() bool {
	select {
	case <-a.met:
		return true
	default:
		return false
	}
}

func (a *account) meet() {
	a.mu.Lock()
	// The programs are told whole seconds.
	a.begin = time.Now()
	a.end = a.begin.Add(a.lasts).Truncate(time.Second)
	a.mu.Unlock()
	a.once(a.met)
}

// left is what is left of the limit. On a machine too slow for the test to see
// what it is to see, the limit turns out to last longer than was stated.
func (a *account) left() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); !a.begin.IsZero() && !a.seen && !now.Before(a.end) {
		a.lasts *= 2
		a.end = now.Add(a.lasts).Truncate(time.Second)
	}
	return time.Until(a.end)
}

// until is the end of the limit as stated last.
func (a *account) until() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.end
}

// mayEnd lets the limit end as stated.
func (a *account) mayEnd() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = true
}

// statusJSON is what the test reads of `status --json`.
type statusJSON struct {
	Run struct {
		ID    string
		State string
	}
	Nodes []struct {
		Name, Label, Reason string
		Attempts            int
	}
}

func (p *project) status(t *testing.T) (s statusJSON) {
	t.Helper()
	if err := json.Unmarshal([]byte(p.mustRun(t, "cmux agents status --json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// A run that meets a limit after its third node ends with all nodes done. No
// node is started into the limit, those that met it go on in the same
// conversation, what needs no account goes on, and the run says how it stands.
func TestRunMeetsALimit(t *testing.T) {
	testall.Only(t)
	for _, c := range []struct {
		name  string
		start string
		nodes int
		fault func(left time.Duration) mt.Fault
	}{
		{"headless", "--headless", 12, mt.UsageLimit},
		{"panes", "--detach", 8, func(left time.Duration) mt.Fault {
			return mt.Fault{Status: 429, Message: fmt.Sprintf("Rate limited. Please try again in %d seconds.", left/time.Second+1)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newAccount("n03", "n04", c.fault)
			nodes, scripts := a.nodes(c.nodes)
			// The command has a slot from the beginning, and the claude nodes two.
			config := "session: shop\nmax_parallel: 3\ndefaults: {agent: claude, role: review, auto_accept: true}\nagents:\n" +
				"  - {name: other, agent: command, task: 'until test -e .git/limited; do sleep 0.1; done'}\n" + nodes
			server := mt.New(t, scripts...)
			p := claudeProject(t, server, config, c.name == "headless")
			ended := make(chan string, 1)
			go func() {
				out, err := p.run(t, p.dir, "cmux agents start --yes "+c.start+" && cmux agents wait")
				ended <- fmt.Sprintf("%v\n%s", err, out)
			}()
			over := ""
			t.Cleanup(func() {
				if over == "" {
					over = <-ended
				}
				if t.Failed() {
					t.Log(over)
					t.Log(p.run(t, p.dir, "cat .cmux/runs/*/records.jsonl"))
					t.Log(p.run(t, p.dir, `for p in $(tmux -L "$CMUX_TMUX_SOCKET" list-panes -a -F '#{pane_id}'); do tmux -L "$CMUX_TMUX_SOCKET" capture-pane -p -e -t $p | tail -n 15 | cat -v; done`))
				}
			})

			a.await(a.met)
			eventually(t, "both nodes and those that wait are limited", func() bool {
				s := p.status(t)
				return s.Run.State == "running" && labelled(s, "limited until", "account claude is at its limit") == c.nodes-2
			})
			// What needs no account goes on, and then nothing else can.
			if err := os.WriteFile(filepath.Join(p.dir, ".git/limited"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the run is limited", func() bool {
				s := p.status(t)
				return s.Run.State == "limited" && labelled(s, "done", "") == 3 && labelled(s, "limited until "+a.until().Local().Format("15:04"), "") == c.nodes-2
			})
			a.mayEnd()
			if over = <-ended; !strings.HasPrefix(over, "<nil>") {
				t.Fatal("the run did not end as done")
			}
			s := p.status(t)
			if s.Run.State != "done" || labelled(s, "done", "") != c.nodes+1 {
				t.Errorf("%+v", s)
			}
			for _, n := range s.Nodes {
				if n.Attempts != 1 {
					t.Errorf("%s: %d attempts", n.Name, n.Attempts)
				}
			}
			a.checkRequests(t, server.Requests(), c.nodes)
			checkLimitRecords(t, p, a)
		})
	}
}

// A runner and a wrapper that are killed while the account is at its limit
// change nothing: the runner that resumes waits too, and the agent that was lost
// goes on in its conversation once the limit is over.
func TestKilledAtALimit(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	a := newAccount("n01", "n02", mt.UsageLimit)
	nodes, scripts := a.nodes(4)
	server := mt.New(t, scripts...)
	p := claudeProject(t, server, "session: shop\nmax_parallel: 2\ndefaults: {agent: claude, role: review, auto_accept: true}\nagents:\n"+nodes, true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.run(t, p.dir, "exec cmux agents start --yes --headless")
	}()
	a.await(a.met)
	eventually(t, "all are limited", func() bool {
		s := p.status(t)
		return s.Run.State == "limited" && labelled(s, "limited until", "") == 4
	})
	for _, r := range p.records(t) {
		if r.Type == run.RunnerUp || r.Type == run.Began && r.Node == "n02" {
			if err := syscall.Kill(r.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	<-ended
	if s := p.status(t); s.Run.State != "no runner" {
		t.Errorf("%+v", s)
	}
	a.mayEnd()
	if out, err := p.run(t, p.dir, "cmux agents resume"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := p.status(t)
	if s.Run.State != "done" || labelled(s, "done", "") != 4 {
		t.Errorf("%+v", s)
	}
	for i, want := range []int{1, 2, 1, 1} {
		if s.Nodes[i].Attempts != want {
			t.Errorf("%s: %d attempts, want %d", s.Nodes[i].Name, s.Nodes[i].Attempts, want)
		}
	}
	a.checkRequests(t, server.Requests(), 4)
	if t.Failed() {
		t.Log(p.run(t, p.dir, "cat .cmux/runs/*/records.jsonl"))
	}
}

func labelled(s statusJSON, label, reason string) (n int) {
	for _, node := range s.Nodes {
		if strings.HasPrefix(node.Label, label) && strings.Contains(node.Reason, reason) {
			n++
		}
	}
	return n
}

// checkRequests proves by the server's log what the account saw.
func (a *account) checkRequests(t *testing.T, requests []mt.Request, nodes int) {
	t.Helper()
	session := map[string]string{} // by script
	after := map[string]int{}      // requests once the limit was over, by script
	worked := time.Time{}          // when the account first answered again
	for _, r := range requests {
		if r.Script == "" {
			continue
		}
		was, known := session[r.Script]
		switch {
		case !known && r.At.After(a.begin) && (worked.IsZero() || r.At.Before(worked)):
			t.Errorf("%s began its conversation %v into the limit of %v", r.Script, r.At.Sub(a.begin), a.end.Sub(a.begin))
		case !known:
		case was != r.Session:
			t.Errorf("%s began a second conversation", r.Script)
		case r.At.After(a.begin) && r.At.Before(a.end) && r.Script != a.third && r.Script != a.fourth:
			t.Errorf("%s asked within the limit", r.Script)
		}
		session[r.Script] = r.Session
		if r.At.After(a.end) {
			after[r.Script]++
			if worked.IsZero() {
				worked = r.At
			}
		}
	}
	if len(session) != nodes {
		t.Errorf("%d conversations, want %d", len(session), nodes)
	}
	for _, node := range []string{a.third, a.fourth} {
		if after[node] == 0 {
			t.Errorf("%s did not go on", node)
		}
	}
}

// records are those of the project's only run.
func (p *project) records(t *testing.T) (all []*run.Record) {
	t.Helper()
	for line := range strings.Lines(p.mustRun(t, "cat .cmux/runs/*/records.jsonl")) {
		r, err := run.ParseRecord([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// checkLimitRecords holds what the run recorded against the account.
func checkLimitRecords(t *testing.T, p *project, a *account) {
	t.Helper()
	var story []string
	limited := false
	for _, r := range p.records(t) {
		if r.Shared != nil {
			continue // what the runner tells the person's other runs of it
		}
		switch r.Type {
		case run.Limited:
			limited = true
			if r.Account != "claude" {
				t.Errorf("the limit is of %q", r.Account)
			}
			story = append(story, "limited")
		case run.Freed:
			limited = false
			story = append(story, "freed")
		case run.Granted:
			story = append(story, map[bool]string{true: "trial", false: "granted"}[r.Trial])
		case run.Started:
			if limited {
				t.Errorf("%s was started at the limit", r.Node)
			}
		}
	}
	got := strings.Join(story, " ")
	if !regexp.MustCompile(`^limited limited (trial limited )*trial freed granted$`).MatchString(got) {
		t.Errorf("the story of the limit: %s", got)
	}
}
