package standing

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
)

// inside is this test binary as what it is for a life: its wrapper, or a hook of its
// program. It returns if it is the tests.
func inside() {
	if len(os.Args) < 3 {
		return
	}
	switch os.Args[1] {
	case "agents":
		f := flag.NewFlagSet("exec", flag.ExitOnError)
		dir, n := f.String("run", "", ""), f.Int("attempt", 0, "")
		f.Parse(os.Args[3:])
		os.Exit(wrapper.Main(context.Background(), wrapper.Options{RunDir: *dir, Node: f.Arg(0), Attempt: *n, Kinds: agent.NewKinds(scripted.Kind(true))}))
	case "hook":
		out, code, err := wrapper.Hook(context.Background(), os.Getenv, os.Args[2], os.Stdin)
		fmt.Print(out, err)
		os.Exit(code)
	}
}

// Agents stay where there is no tmux: with a process each that outlives the keeper.
func TestWithoutWindows(t *testing.T) {
	w := newWorld(t)
	w.kinds = agent.NewKinds(scripted.Kind(true))
	role := filepath.Join(w.root, "role")
	if err := os.WriteFile(role, []byte(`
echo '{}' | cmux hook turn-ended
while read -r line; do echo "$line" >> heard; echo '{}' | cmux hook turn-ended; done`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.org().Join(t.Context(), run.Member{Name: "api", Role: Worker, ID: "ag_1", Dir: w.root, Kind: scripted.Name, RoleFile: role, Headless: true}, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // nothing of a test that has failed stays
		if l := w.org().Agents["api"].Life; l.On() && l.PID > 0 {
			syscall.Kill(l.PID, syscall.SIGKILL)
		}
	})
	keep := func() (stop func() error) {
		o := w.options()
		o.Patience = 0
		o.Windows, o.Host = Nowhere{}, func(c host.Config) (_ host.Host, err error) {
			c.Env, err = c.Run.Env()
			h, err2 := host.NewHeadless(c)
			return h, errors.Join(err, err2)
		}
		return w.keepBy(o)
	}
	rests := func(n int) func(*Org) bool {
		return func(o *Org) bool { return w.lives1("api", n)(o) && o.Agents["api"].Activity == dag.Resting }
	}
	stop := keep()
	first := w.until("it rests", rests(1)).Agents["api"].Life
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := w.until("it rests again", rests(2)).Agents["api"].Life
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	// The next keeper finds it, and can speak to it.
	stop = keep()
	id := w.send("user", "api", "hello")
	w.until("it is told", func(*Org) bool {
		b, _ := os.ReadFile(filepath.Join(w.root, "heard"))
		return strings.Contains(string(b), "hello")
	})
	if now := w.org().Agents["api"].Life; now.N != 2 || now.PID != second.PID {
		t.Errorf("after %s another life began: %+v", id, now)
	}
	w.answered(w.ask(run.OpStop, "", Ask{}))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if w.org().Agents["api"].Life.On() {
		t.Error("it lives after a stop")
	}
}
