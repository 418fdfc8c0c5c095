package wrapper_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/command"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
)

func TestMain(m *testing.M) {
	doubt, err := time.ParseDuration(os.Getenv("TEST_DOUBT"))
	if err != nil {
		doubt = 20 * time.Millisecond
	}
	agenttest.Main(m, attempt.Limits{Grace: time.Second, Doubt: attempt.Doubt{Signal: doubt, Other: doubt, Ending: doubt}},
		command.Kind(), scripted.Kind(true), frontKind())
}

// fixture is a node of a script in a folder that is no repository.
type fixture struct{ *agenttest.Fixture }

func newFixture(t *testing.T, node dag.Node) *fixture {
	return fixtureIn(t, t.TempDir(), node)
}

func fixtureIn(t *testing.T, root string, node dag.Node) *fixture {
	t.Helper()
	if node.Name == "" {
		node.Name = "a"
	}
	if node.Agent == "" {
		node.Agent = dag.KindCommand
	}
	if node.Role == "" {
		node.Role = dag.RoleReview
	}
	node.When, node.OnLost, node.Account = dag.AllSuccess, dag.Redo, node.Agent
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "TERM=screen"}
	return &fixture{agenttest.Bare(t, root, node, env)}
}

// start starts the wrapper as a process of its own. out is what it printed.
func (f *fixture) start() (cmd *exec.Cmd, out fmt.Stringer, wait func() int) {
	f.T.Helper()
	cmd, wait = f.Start()
	return cmd, shown{f}, wait
}

type shown struct{ f *fixture }

func (s shown) String() string { return s.f.Shown() }

// activities are the recorded activities and waits for a slot, in order.
func (f *fixture) activities() string {
	var all []string
	for _, r := range f.Records() {
		switch r.Type {
		case run.Active:
			all = append(all, agenttest.ActivityName(r.Activity))
		case run.Wants:
			all = append(all, "wants")
		}
	}
	return strings.Join(all, ", ")
}

func (f *fixture) marker() string {
	b, err := os.ReadFile(filepath.Join(f.Run.Signals(), f.Node.Name+".done"))
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	}
	if err != nil {
		f.T.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}
