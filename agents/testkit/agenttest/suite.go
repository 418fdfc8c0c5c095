package agenttest

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	"cmux/dag"
)

// Subject is a kind, and how what its agent does is scripted.
type Subject struct {
	Kind agent.Kind
	// Play has the kind's agent play. What the player keeps is in base.
	Play func(t testing.TB, base string, play Play) Player
	// Question is what the agent asks with Ask.
	Question Question
	// Lasting says that Fail is what will fail again, however long is waited: in
	// a pane a person is asked.
	Lasting bool
	// Slow says that the program takes seconds of the processor to begin. In a pane
	// it then shows what a pane changes, and not what goes over its pipe as it does
	// headless (Kind.Can.Panes is agent.Console); Codex shows all of it there. What
	// others do on their way is not done for itself.
	Slow bool
	// Twin says that another kind that goes over the same pipe is taken through all
	// of this in a pane: there only what the program itself asks, and how it fails,
	// is looked at.
	Twin bool
	// Later makes what the program left in its home look as if minutes had passed
	// since; nil: it does not care.
	Later func(t testing.TB, home string)
	// Node is what nodes of the kind need beside; nil: nothing.
	Node func(*dag.Node)
}

// Run takes a kind through what every kind must do, headless and in a pane of
// tmux. In a pane a console goes over the same pipe as headless: make test looks there
// at what is its own. A behavior that its Capability says the kind has not is skipped, and
// the skip says which; there is no other way to be skipped but Slow and Twin.
func Run(t *testing.T, s Subject) {
	for _, where := range []struct {
		name string
		pane bool
		can  string
	}{{"headless", false, s.Kind.Can.Headless}, {"pane", true, s.Kind.Can.Panes}} {
		t.Run(where.name, func(t *testing.T) {
			t.Parallel()
			if where.can == "" {
				t.Skipf("%s does not run there: its Capability says so", s.Kind.Name)
			}
			for _, b := range behaviors {
				t.Run(b.name, func(t *testing.T) {
					t.Parallel()
					if b.pane && !where.pane {
						t.Skip("nobody types where there is no pane")
					}
					if b.piped && where.pane && s.Slow && s.Kind.Can.Panes == agent.Console {
						t.Skipf("%s: a pane changes nothing about it: Kind says of panes: %s", s.Kind.Name, agent.Console)
					}
					if !b.own && where.pane && s.Twin {
						t.Skipf("%s: another kind shows it", s.Kind.Name)
					}
					if where.pane && !b.own && s.Kind.Can.Panes == agent.Console {
						testall.Only(t)
					}
					if b.again && !where.pane && s.Slow && s.Kind.Can.Resume != "" {
						t.Skipf("%s: %q does it too", s.Kind.Name, "resumes")
					}
					if b.lacks != nil {
						if what := b.lacks(s.Kind); what != "" {
							t.Skipf("%s: Kind says of %s: no", s.Kind.Name, what)
						}
					}
					b.test(&stage{t: t, subject: s, pane: where.pane})
				})
			}
		})
	}
}

// stage is where one behavior is looked at.
type stage struct {
	*Fixture
	t       *testing.T
	subject Subject
	player  Player
	pane    bool
	screen  *Pane // where pane
}

func (s *stage) kind() agent.Kind { return s.subject.Kind }

// plays sets a node up whose agent plays.
func (s *stage) plays(change func(*dag.Node), task string, play ...Part) {
	s.t.Helper()
	base := s.t.TempDir()
	s.player = s.subject.Play(s.t, base, play)
	n := Node(s.kind().Name, s.player.Task(task), func(n *dag.Node) {
		n.AutoAccept = s.kind().Can.AutoAccept != ""
		if s.subject.Node != nil {
			s.subject.Node(n)
		}
		if change != nil {
			change(n)
		}
	})
	s.Fixture = New(s.t, base, n, s.player.Env())
}

// begins starts the wrapper, in a pane or headless.
func (s *stage) begins() {
	s.t.Helper()
	if s.pane {
		s.screen = s.InPane()
		return
	}
	s.Start()
}

// ends waits for the attempt's end, and that nothing of it is left.
func (s *stage) ends() *run.End {
	s.t.Helper()
	s.Eventually("the attempt ends", func() bool {
		for _, r := range s.Records() {
			if r.Attempt == s.Spec.Attempt && (r.Type == run.AttemptEnd || r.Type == run.Vanished) {
				return true
			}
		}
		return false
	})
	s.leavesNothing()
	return s.Ended()
}

// leavesNothing waits for the wrapper to go, and looks for what it left.
func (s *stage) leavesNothing() {
	s.t.Helper()
	began := s.Last(run.Began)
	s.Eventually("its wrapper has gone", func() bool { return !alive(began.PID) })
	if left := s.Processes(); len(left) > 0 {
		s.t.Errorf("it left %v", left)
	}
}

// alive reports whether there is a process that is no zombie.
func alive(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

// done waits for the end of the work and checks that it is done.
func (s *stage) done(summary string, commits int) *run.End {
	s.t.Helper()
	end := s.ends()
	if !s.kind().Judge {
		summary = "" // its exit code is its report
	}
	if end.Outcome != dag.Done || end.Summary != summary || end.Commits != commits {
		s.t.Errorf("end %+v\nwant done, %q, %d commits", *end, summary, commits)
	}
	return end
}

// hears waits until the agent was told the text.
func (s *stage) hears(text string) {
	s.t.Helper()
	s.Eventually("it is told "+text, func() bool { return strings.Contains(s.player.Heard(), text) })
}

// at waits until the agent waits at the gate.
func (s *stage) at(gate string) {
	s.t.Helper()
	s.Eventually("it is at the gate "+gate, func() bool { return s.player.Held(gate) })
}

// program are the processes that the wrapper started itself.
func (s *stage) program() (pids []int) {
	s.t.Helper()
	wrapper := strconv.Itoa(s.Last(run.Began).PID)
	for _, p := range s.Processes() {
		out, err := exec.Command("ps", "-o", "ppid=", "-p", strconv.Itoa(p.PID)).Output()
		if err == nil && strings.TrimSpace(string(out)) == wrapper {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
