// Package chaos kills what carries runs, at random, and holds the runs to
// their promise: they end as they would have, with nothing done twice and
// nothing forgotten.
package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/command"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
)

var (
	runs  = flag.Int("chaos.runs", 0, "how many random runs of each kind; 0: as many as make test has time for")
	first = flag.Uint64("chaos.seed", 7000, "seed of the first run; 0: a new one")
)

// plan is a random run: its graph and what each node's program does, which
// alone decides how the node ends.
type plan struct {
	config string
	nodes  []node
}

type node struct {
	name  string
	gate  bool
	exit  int // how its program ends; 0 after fails failures that retries make up for
	fails int
	deps  []string
	tree  bool
	all   bool // when: all_success
}

func randomPlan(rnd *rand.Rand, log string) plan {
	var p plan
	var b strings.Builder
	fmt.Fprintf(&b, "session: s\nmax_parallel: %d\ndefaults: {agent: command, timeout: 2m}\nagents:\n", 1+rnd.IntN(4))
	for i := range 3 + rnd.IntN(8) {
		n := node{name: "n" + strconv.Itoa(i), tree: rnd.IntN(3) == 0, gate: rnd.IntN(12) == 0}
		for j := range i {
			if rnd.IntN(3) == 0 {
				n.deps = append(n.deps, "n"+strconv.Itoa(j))
			}
		}
		when := []dag.Join{dag.AllSuccess, dag.AllSuccess, dag.AllSuccess, dag.AllDone, dag.OneSuccess}[rnd.IntN(5)]
		n.all = when == dag.AllSuccess
		retries := rnd.IntN(3)
		switch rnd.IntN(5) {
		case 0:
			n.exit, n.fails = 1+rnd.IntN(60), 1000
		case 1:
			n.fails = rnd.IntN(retries + 1)
		}
		fmt.Fprintf(&b, "  - name: %s\n    when: %s\n    depends_on: [%s]\n", n.name, when, strings.Join(n.deps, ", "))
		switch {
		case n.gate:
			n.tree, n.exit, n.fails = false, 0, 0
			b.WriteString("    role: gate\n")
		case !n.tree:
			b.WriteString("    role: review\n")
			fallthrough
		default:
			fmt.Fprintf(&b, "    retries: %d\n", retries)
			if n.tree && rnd.IntN(3) == 0 {
				b.WriteString("    verify: [\"sleep 0.05\"]\n")
			}
			fmt.Fprintf(&b, "    task: |\n%s", indent(n.script(rnd, log)))
		}
		p.nodes = append(p.nodes, n)
	}
	p.config = b.String()
	return p
}

// script is the node's program. What it notices goes to the log.
func (n *node) script(rnd *rand.Rand, log string) string {
	var b strings.Builder
	say := func(format string, a ...any) string {
		return fmt.Sprintf("echo \""+format+"\" >> %s/all", append(a, log)...)
	}
	// The lock is held by everything that the attempt started, so a leftover of
	// an earlier attempt shows as well.
	fmt.Fprintf(&b, "exec 9>>%s/%s.lock\nflock -n 9 || %s\n", log, n.name, say("overlap %s $CMUX_ATTEMPT", n.name))
	fmt.Fprintf(&b, "%s\n", say("start %s $CMUX_ATTEMPT", n.name))
	fmt.Fprintf(&b, "sleep 0.%03d\n", rnd.IntN(200))
	if n.tree {
		fmt.Fprintf(&b, "echo %s > %s.txt\n", n.name, n.name)
	}
	if n.fails > 0 {
		code := max(n.exit, 1)
		fmt.Fprintf(&b, "c=$(cat %[1]s/%[2]s.fails 2>/dev/null || echo 0)\nif [ \"$c\" -lt %[3]d ]; then echo $((c+1)) > %[1]s/%[2]s.new; mv %[1]s/%[2]s.new %[1]s/%[2]s.fails; %[4]s; exit %[5]d; fi\n",
			log, n.name, n.fails, say("end %s $CMUX_ATTEMPT", n.name), code)
	}
	fmt.Fprintf(&b, "%s\n", say("end %s $CMUX_ATTEMPT", n.name))
	return b.String()
}

func indent(s string) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString("      " + l)
	}
	return b.String()
}

// ends says how the run ends when nothing disturbs it, as the scheduler alone
// has it. A touched node is a success.
func (p *plan) ends(t *testing.T, g *dag.Graph, touched map[string]bool) string {
	t.Helper()
	s := dag.Rebuild(g, dag.Facts{Nodes: make([]dag.Fact, g.Len())})
	effects := s.Due()
	for len(effects) > 0 {
		var changes []dag.Change
		for _, e := range effects {
			n := p.nodes[e.Node]
			switch e.Kind {
			case dag.Start:
				c := dag.Change{Kind: dag.AttemptEnded, Node: e.Node, Attempt: e.Attempt, Outcome: dag.Done}
				if e.Attempt <= n.fails {
					c.Outcome, c.Exit = dag.Failed, max(n.exit, 1)
				}
				changes = append(changes, c)
			case dag.Open:
				changes = append(changes, dag.Change{Kind: dag.Overridden, Node: e.Node, Outcome: dag.Done})
			}
		}
		effects = s.Step(changes...)
		if len(effects) == 0 {
			for i, n := range p.nodes {
				if touched[n.name] && !(s.Fact(i).Phase == dag.Ended && s.Fact(i).Outcome.Success()) {
					effects = append(effects, s.Step(dag.Change{Kind: dag.Overridden, Node: i, Outcome: dag.Override})...)
				}
			}
		}
	}
	var b strings.Builder
	for i, n := range p.nodes {
		fmt.Fprintf(&b, "%s: %s\n", n.name, plain(s.Status(i, time.Now()).Label.String()))
	}
	return b.String()
}

// plain calls every success done: whether a touch came before a node's end is
// a matter of moments.
func plain(label string) string {
	if strings.HasPrefix(label, "done") {
		return "done"
	}
	return label
}

func TestKillsHeadless(t *testing.T) { kills(t, true, 10) }

func TestKillsInTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	kills(t, false, 6)
}

func kills(t *testing.T, headless bool, count int) {
	if *runs > 0 {
		count = *runs
	}
	seed := *first
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1e9
	}
	for i := range uint64(count) {
		seed := seed + i
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			chaos(t, headless, seed)
		})
	}
}

// maxKills keeps below what makes a node count as lost for good.
const maxKills = dag.MaxLosses

func chaos(t *testing.T, headless bool, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, seed))
	w := newWorld(t, headless, "")
	p := randomPlan(rnd, w.path("log"))
	w.write(".cmux-agents.yml", p.config)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("go test ./agents/testkit/chaos -run '%s' -chaos.runs 1 -chaos.seed %d\n%s", strings.Split(t.Name(), "/")[0], seed, w.report())
		}
	})
	if err := w.carry("start", "--yes"); err != nil {
		t.Fatal(err)
	}
	if !until(t, "a run", 20*time.Second, func() bool { _, err := run.Latest(w.root); return err == nil }) {
		return
	}
	touched, removed := make(moments), make(moments)
	moment := func() time.Duration { return time.Duration(rnd.IntN(500)) * time.Millisecond }
	next := time.NewTimer(moment())
	defer next.Stop()
	look := time.NewTicker(30 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(2 * time.Minute)
	began := time.Now()
	defer func() { t.Logf("took %s", time.Since(began).Round(time.Second)) }()
	left := maxKills
	for {
		select {
		case <-deadline:
			t.Fatalf("the run has not ended; it is %s:\n%s", w.view().RunState, labels(w.view()))
		case <-next.C:
			next.Reset(moment())
			n := p.nodes[rnd.IntN(len(p.nodes))]
			switch what := rnd.IntN(10); {
			case what == 0:
				touched.note(n.name)
				if err := w.touch(n.name); err != nil {
					t.Fatal(err)
				}
				t.Logf("touched %s", n.name)
			case what == 1 && touched[n.name].IsZero() && !n.gate:
				removed[n.name] = time.Now() // the last time decides whether anybody was there
				os.Remove(w.marker(n.name))
				t.Logf("removed the marker of %s", n.name)
			case left > 0:
				left--
				w.strike(rnd)
			}
		case <-look.C:
			v := w.view()
			if v.RunState == dag.RunDone || v.RunState == dag.RunFailed {
				// In tmux the runner stays with the run, and has to have recorded its end.
				if carried := v.Holder != nil || w.has("runner"); carried && (headless || v.EndedAt.IsZero()) {
					continue
				}
				if !v.EndedAt.IsZero() {
					w.judge(&p, touched, removed)
					return
				}
				// Touched to its end while nobody was there to record it.
				if err := w.carry("resume"); err != nil {
					t.Logf("resume: %v", err)
				}
				continue
			}
			if v.Holder == nil && !w.has("runner") {
				if err := w.carry("resume"); err != nil && !strings.Contains(err.Error(), runner.ErrRunning.Error()) {
					// It may have ended meanwhile, or its tmux been killed.
					t.Logf("resume: %v", err)
				}
			}
			for i := range v.Nodes {
				if v.Nodes[i].Spec.Role == dag.RoleGate && v.Nodes[i].Status.Label.State == dag.NodeNeedsInput {
					touched.note(v.Nodes[i].Spec.Name)
					if err := w.touch(v.Nodes[i].Spec.Name); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

func (w *world) has(what string) bool {
	return slices.ContainsFunc(w.processes(), func(p process) bool { return p.what == what })
}

// touch does what touch(1) does.
func (w *world) touch(node string) error {
	_, err := w.try("touch", w.marker(node))
	return err
}

// strike kills something.
func (w *world) strike(rnd *rand.Rand) {
	all := w.processes()
	var victims []process
	pick := func(what string) {
		var of []process
		for _, p := range all {
			if p.what == what {
				of = append(of, p)
			}
		}
		if len(of) > 0 {
			victims = append(victims, of[rnd.IntN(len(of))])
		}
	}
	switch rnd.IntN(6) {
	case 0, 1:
		pick("runner")
	case 2:
		pick("wrapper")
	case 3:
		pick("tmux")
	case 4:
		victims = all
	case 5:
		pick("runner")
		pick("wrapper")
	}
	for _, v := range victims {
		w.t.Logf("kill %s %d: %.100s", v.what, v.PID, v.args)
	}
	w.kill(victims)
}

// moments is when something was done to a node: a touch for the first time, a
// removal for the last.
type moments map[string]time.Time

func (m moments) note(node string) {
	if m[node].IsZero() {
		m[node] = time.Now()
	}
}

// late is how close to the end of a run the runner may have missed it.
const late = 300 * time.Millisecond

// judge holds a run that has ended to its promises.
func (w *world) judge(p *plan, touched, removed moments) {
	t := w.t.(*testing.T)
	t.Helper()
	v := w.view()
	g := v.Run.Plan.Graph
	missed := func(at time.Time) bool { return at.After(v.EndedAt.Add(-late)) }
	var have strings.Builder
	for _, n := range v.Nodes {
		fmt.Fprintf(&have, "%s: %s\n", n.Spec.Name, plain(n.Status.Label.String()))
	}
	counted, all := make(map[string]bool), make(map[string]bool)
	for name, at := range touched {
		all[name] = true
		if !missed(at) {
			counted[name] = true
		}
	}
	if want := p.ends(t, g, all); have.String() != want && have.String() != p.ends(t, g, counted) {
		t.Errorf("ended as\n%swant\n%s", have.String(), want)
	}
	// What the nodes themselves noticed.
	log, _ := os.ReadFile(w.path("log/all"))
	ended := make(map[string]bool)
	started := make(map[string]bool)
	for line := range strings.Lines(string(log)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Errorf("strange line in the log: %q", line)
			continue
		}
		i := g.Index(f[1])
		switch f[0] {
		case "overlap":
			t.Errorf("%s ran twice at the same time: %s", f[1], f[2])
		case "start":
			if started[f[2]] {
				t.Errorf("attempt %s was started twice", f[2])
			}
			started[f[2]] = true
			for _, d := range p.nodes[i].deps {
				if p.nodes[i].all && !ended[d] && touched[d].IsZero() {
					if j := g.Index(d); !p.nodes[j].gate {
						t.Errorf("%s started before %s had ended", f[2], d)
					}
				}
			}
		case "end":
			ended[f[1]] = true
		}
	}
	w.judgeRecords(v)
	for i, n := range p.nodes {
		nv := &v.Nodes[i]
		success := nv.Fact.Phase == dag.Ended && nv.Fact.Outcome.Success()
		marker, err := os.ReadFile(w.marker(n.name))
		text := strings.TrimSpace(string(marker))
		switch {
		case missed(touched[n.name]) || missed(removed[n.name]): // nobody was there any more
		case err != nil:
			t.Errorf("%s has no marker: %v", n.name, err)
		case success && text != "0" && text != "":
			t.Errorf("%s is %s, its marker says %q", n.name, nv.Status.Label, text)
		case nv.Status.Label.State == dag.NodeBlocked && text != "99":
			t.Errorf("%s is %s, its marker says %q", n.name, nv.Status.Label, text)
		case !success && nv.Fact.Phase == dag.Ended && text != strconv.Itoa(nv.Fact.Exit):
			t.Errorf("%s is %s, its marker says %q", n.name, nv.Status.Label, text)
		}
		if n.tree && nv.Fact.Outcome == dag.Done && nv.Fact.Phase == dag.Ended {
			if out, err := w.try("git", "show", nv.Spec.Branch+":"+n.name+".txt"); err != nil || out != n.name {
				t.Errorf("the work of %s is not on its branch: %q, %v", n.name, out, err)
			}
		}
	}
	runnerLog, _ := os.ReadFile(v.Run.RunnerLog())
	if strings.Contains(string(runnerLog), "disagree") {
		t.Errorf("the runner and its records disagreed")
	}
	if out, err := w.try("git", "fsck", "--connectivity-only"); err != nil || strings.Contains(out, "missing") {
		t.Errorf("git fsck: %v %s", err, out)
	}
}

// judgeRecords replays the records one by one.
func (w *world) judgeRecords(v *run.View) {
	w.t.Helper()
	h := run.NewHistory(v.Run.Plan.Graph)
	open := make(map[string]int)
	_, err := v.Run.Replay(h, 0, func(rec *run.Record) {
		i := h.Graph.Index(rec.Node)
		if i < 0 {
			return
		}
		f := &h.Nodes[i].Fact
		switch rec.Type {
		case run.Started:
			if open[rec.Node] != 0 {
				w.t.Errorf("attempt %d of %s was started while attempt %d had not ended", rec.Attempt, rec.Node, open[rec.Node])
			}
			open[rec.Node] = rec.Attempt
		case run.AttemptEnd, run.Vanished:
			open[rec.Node] = 0
		}
		if rec.Type == run.Started && f.Phase == dag.Ended && f.Outcome.Success() {
			w.t.Errorf("%s was done and attempt %d was started", rec.Node, rec.Attempt)
		}
	})
	if err != nil {
		w.t.Error(err)
	}
	if !slices.ContainsFunc(h.Nodes, func(n run.Node) bool { return n.Fact.Live() && !n.Fact.StillOpen }) {
		return
	}
	w.t.Error("an attempt is recorded as alive in a run that has ended")
}

// TestRandomPlansAreValid keeps the generator honest: a plan that cmux refuses
// tests nothing.
func TestRandomPlansAreValid(t *testing.T) {
	for seed := range uint64(200) {
		p := randomPlan(rand.New(rand.NewPCG(seed, seed)), "/tmp/log")
		g, _, err := dag.Parse("f.yml", []byte(p.config), dag.ParseOptions{Kinds: []string{command.Kind().Name}})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p.config)
		}
		if g.Len() != len(p.nodes) {
			t.Fatalf("seed %d: %d nodes, want %d", seed, g.Len(), len(p.nodes))
		}
		p.ends(t, g, nil)
	}
}
