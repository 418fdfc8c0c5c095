package claude_test

import (
	"os"
	"testing"
	"time"

	"cmux/agents/kinds/claude"
	"cmux/agents/runs/attempt"
	"cmux/agents/testkit/agenttest"
	"cmux/agents/testkit/modeltest"
	"cmux/dag"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, attempt.Limits{Grace: 10 * time.Second, Settle: settle(), Parting: time.Minute}, claude.Kind())
}

// settle is how long a test lets background work take; 0: the default.
func settle() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("TEST_SETTLE")) // most set none
	return d
}

// fixture is a node of the real Claude Code before a scripted model.
type fixture struct {
	*agenttest.Fixture
	server *modeltest.Server
	home   *modeltest.Home
}

// node is a build node whose task marks the script of that name.
func node(script string, change func(*dag.Node)) dag.Node {
	return agenttest.Node(claude.Name, "Do the whole task. #script:"+script, func(n *dag.Node) {
		n.AutoAccept = true
		if change != nil {
			change(n)
		}
	})
}

func newFixture(t *testing.T, n dag.Node, scripts ...modeltest.Script) *fixture {
	t.Helper()
	f := &fixture{server: modeltest.New(t, scripts...)}
	base, err := os.MkdirTemp("", "claude")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // what ends last may still write
		for late := time.Now().Add(time.Minute); os.RemoveAll(base) != nil; {
			if time.Now().After(late) {
				t.Errorf("%s cannot be removed", base)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	f.home = modeltest.Env(t, f.server, agenttest.Project(t, base))
	f.Fixture = agenttest.New(t, base, n, f.home.Env)
	agenttest.LogRequests(t, f.server)
	return f
}

// start starts the wrapper headless.
func (f *fixture) start() (wait func() int) {
	f.T.Helper()
	_, wait = f.Start()
	return wait
}
