package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/dag"
)

var shutdowns = flag.Int("chaos.shutdowns", 0, "how many orderly shutdowns of each kind; 0: as many as make test has time for")

// The programs of a shutdown test. Each says that it is up and then lasts
// until go is there; they differ in how they take a TERM.
func (w *world) lasting() []string {
	up := fmt.Sprintf("echo x >> %s/$CMUX_NODE; ", w.path("log"))
	last := fmt.Sprintf("while ! test -e %s/go; do sleep 0.1; done", w.path("log"))
	return []string{
		up + last,
		up + "(" + last + ") & wait $!",               // a shell that says what its child died of
		up + "(" + last + ") & wait $! || exit 2",     // as make takes it
		up + "trap 'exit 1' TERM; " + last,            // as a program that is well-behaved
		up + "trap 'sleep 0.2; exit 3' TERM; " + last, // and one that takes its time
		up + "trap '' TERM; " + last,                  // one that waits for KILL
	}
}

// An orderly shutdown is no verdict: TERM to all processes at once, in any
// order, then KILL. No node has ended of it, and resume does all of them.
func TestOrderlyShutdown(t *testing.T) {
	each(t, func(t *testing.T, headless bool) {
		count := 2
		if *shutdowns > 0 {
			count = *shutdowns
		}
		for i := range count {
			t.Run(fmt.Sprint(i), func(t *testing.T) { shutdown(t, headless, *first+uint64(i)) })
		}
	})
}

func shutdown(t *testing.T, headless bool, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, seed))
	w := newWorld(t, headless, "")
	var b strings.Builder
	b.WriteString("session: s\nmax_parallel: 40\ndefaults: {agent: command}\nagents:\n")
	names := []string{}
	node := func(name, more, task string) {
		names = append(names, name)
		fmt.Fprintf(&b, "  - name: %s\n%s    task: |\n%s", name, more, indent(task+"\n"))
	}
	for i, task := range w.lasting() {
		node(fmt.Sprintf("p%d", i), "    role: review\n", task)
		node(fmt.Sprintf("r%d", i), "    role: review\n    retries: 2\n", task)
	}
	for i, check := range w.lasting()[:4] { // in the middle of its checks
		node(fmt.Sprintf("c%d", i), fmt.Sprintf("    verify:\n      - |\n    %s", indent(indent(check+"\n"))), "echo $CMUX_NODE > $CMUX_NODE.txt")
	}
	fmt.Fprintf(&b, "  - {name: last, role: review, task: \"true\", depends_on: [%s]}\n", strings.Join(names, ", "))
	config := b.String()
	defer func() {
		if t.Failed() {
			t.Logf("seed %d\n%s", seed, w.report())
		}
	}()
	w.start(config, names[0], 1)
	for _, name := range names {
		w.awaitRun(name, 1)
	}
	// In any order, some at once and some apart, as a script does it.
	ps := w.processes()
	rnd.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
	apart := time.Duration(rnd.IntN(3)) * 500 * time.Microsecond
	for _, p := range ps {
		syscall.Kill(p.PID, syscall.SIGTERM)
		if apart > 0 {
			busy(apart)
		}
	}
	patience := time.NewTimer(time.Duration(rnd.IntN(4000)) * time.Millisecond)
	defer patience.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for over := false; !over; {
		select {
		case <-look.C:
			over = len(w.processes()) == 0
		case <-patience.C:
			over = true
		}
	}
	for left := w.processes(); len(left) > 0; left = w.processes() {
		w.kill(left)
	}
	w.gone(ps)
	w.wg.Wait()
	for _, n := range w.view().Nodes {
		if l := n.Status.Label; l.State != dag.NodeLost && n.Spec.Name != "last" {
			t.Errorf("%s: %s (%s)", n.Spec.Name, l, n.Status.Reason)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.root, ".cmux/signals/*.done")); len(left) > 0 {
		t.Errorf("a shutdown left markers: %v", left)
	}
	if err := w.carry("resume"); err != nil {
		t.Fatal(err)
	}
	w.let()
	var want strings.Builder
	for _, name := range append(names, "last") {
		fmt.Fprintf(&want, "%s: done\n", name)
	}
	w.becomes(want.String())
	for _, n := range w.view().Nodes {
		if n.Fact.Losses > dag.MaxLosses || n.Fact.Tries > 0 {
			t.Errorf("%s was lost %d times and tried %d times", n.Spec.Name, n.Fact.Losses, n.Fact.Tries)
		}
	}
	until(t, "the run to have ended", 20*time.Second, func() bool { return w.view().RunState == dag.RunDone })
	if s, err := os.ReadDir(filepath.Join(w.root, ".cmux/signals")); err != nil || len(s) < len(names) {
		t.Errorf("%d markers, %v", len(s), err)
	}
}

// busy passes a time that is too short to sleep for.
func busy(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
