package agenttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// behavior is something that every kind must do.
type behavior struct {
	name string
	// lacks names what of a Kind says that it cannot; empty: it must. nil: every
	// kind must.
	lacks func(agent.Kind) string
	test  func(*stage)
	pane  bool // it takes somebody who types
	piped bool // to a program behind a console, a pane makes no difference
	again bool // headless, others do all of it on their way to what they look at
	own   bool // behind a console too, it is about what the program itself does
}

const (
	commit = "git add -A && git commit -q -m work"
	work   = Do("echo made > a.txt && " + commit)
	task   = "Do the whole task."

	// sentBack is how prompt.NoReport begins.
	sentBack = "You ended your turn without reporting"
	// nothing is a report that needs no commit.
	nothing = Report("nothing was needed")
)

// converses is for what only an agent does that can be spoken to.
func converses(k agent.Kind) string {
	if !k.Judge {
		return "Judge"
	}
	return ""
}

// can is for what a text of the Capability says how a kind does it.
func can(name string, of func(agent.Capability) string) func(agent.Kind) string {
	return func(k agent.Kind) string {
		if of(k.Can) == "" {
			return "Capability." + name
		}
		return ""
	}
}

var behaviors = []behavior{
	{name: "starts", test: (*stage).starts, again: true},
	{name: "is handed back and judged", lacks: converses, test: (*stage).isJudged, piped: true},
	{name: "asks and is answered", own: true, lacks: can("Questions", func(c agent.Capability) string { return c.Questions }), test: (*stage).asks},
	{name: "is blocked and answered", lacks: converses, test: (*stage).isBlocked},
	{name: "is taken over", lacks: can("TakeOver", func(c agent.Capability) string { return c.TakeOver }), test: (*stage).isTakenOver, pane: true},
	{name: "meets a limit", lacks: can("Limits", func(c agent.Capability) string { return c.Limits }), test: (*stage).meetsALimit, piped: true},
	{name: "fails", own: true, test: (*stage).fails},
	{name: "is stopped", test: (*stage).isStopped, piped: true},
	{name: "is killed", test: (*stage).isKilled, again: true},
	{name: "resumes", lacks: can("Resume", func(c agent.Capability) string { return c.Resume }), test: (*stage).resumes, piped: true},
	{name: "begins a new conversation without an answer", lacks: can("Resume", func(c agent.Capability) string { return c.Resume }), test: (*stage).beginsAnew, piped: true},
	{name: "begins a new conversation without the old one", lacks: can("Resume", func(c agent.Capability) string { return c.Resume }), test: (*stage).beginsWithout, piped: true},
	{name: "reports use", lacks: can("Usage", func(c agent.Capability) string { return c.Usage }), test: (*stage).reportsUse, piped: true},
	{name: "keeps its budget", lacks: can("Usage", func(c agent.Capability) string { return c.Usage }), test: (*stage).keepsItsBudget, piped: true},
	{name: "takes 200 KB and ends with everything it started", test: (*stage).takesMuch},
}

func (s *stage) starts() {
	s.plays(nil, task, Part{Acts: []Act{work, Report("made it")}})
	s.begins()
	s.done("made it", 1)
	if b, err := os.ReadFile(filepath.Join(s.Tree, "a.txt")); string(b) != "made\n" {
		s.t.Errorf("a.txt: %q, %v", b, err)
	}
	if !strings.Contains(s.player.Heard(), task) {
		s.t.Errorf("it was told %q", s.player.Heard())
	}
	if c := s.Last(run.Conversed); (c == nil) != (s.kind().Can.Resume == "") {
		s.t.Errorf("its conversation is recorded as %+v", c)
	}
}

// Without a report it is told to give one, once what its turn said is recorded; what a check says of the report is
// what it is told next.
func (s *stage) isJudged() {
	s.plays(func(n *dag.Node) { n.Verify = []string{"test -e fixed || { echo not fixed yet; exit 5; }"} }, task,
		Part{Acts: []Act{work, Say("finished")}},
		Part{On: sentBack, Acts: []Act{Report("one")}},
		Part{On: "failed (exit 5;", Acts: []Act{Do("touch fixed && " + commit), Report("two")}})
	s.Spec.Terms.Replies = true
	s.begins()
	s.hears(sentBack)
	if r := s.replies(); s.kind().Can.Replies != "" && (len(r) == 0 || r[0].Detail != "finished") {
		s.t.Errorf("it is handed back, and what its turn said is recorded as %+v", r)
	}
	s.done("two", 2)
	if s.Activities() != "checking, running, checking, running" {
		s.t.Error(s.Activities())
	}
}

// A person answers what the agent asks. Where nobody is there it does not wait.
func (s *stage) asks() {
	s.plays(func(n *dag.Node) { n.AutoAccept = false }, task,
		Part{Acts: []Act{Ask{}, Say("so be it")}},
		Part{On: sentBack, Acts: []Act{nothing}},                // some are told at once, and end their turn
		Part{On: s.subject.Question.Told, Acts: []Act{nothing}}) // others when it has ended
	s.begins()
	if !s.pane {
		end := s.ends()
		if end.Outcome != dag.Done && end.Reason != dag.ReasonReported {
			s.t.Errorf("%+v", *end)
		}
		return
	}
	s.Becomes("needs input")
	if a := s.Last(run.Active); !strings.Contains(a.Detail, s.subject.Question.Shown) {
		s.t.Errorf("a person is shown %q, want %q", a.Detail, s.subject.Question.Shown)
	}
	if err := s.Dial().Answer(s.t.Context(), s.subject.Question.Answer); err != nil {
		s.t.Fatal(err)
	}
	s.hears(s.subject.Question.Told)
	s.done(string(nothing), 0)
}

func (s *stage) isBlocked() {
	s.plays(nil, task,
		Part{Acts: []Act{Blocked("which one?"), Say("waiting")}},
		Part{On: "the left one", Acts: []Act{nothing}})
	s.begins()
	if !s.pane {
		if end := s.ends(); end.Outcome != dag.Failed || end.Reason != dag.ReasonReported || !strings.Contains(end.Detail, "which one?") {
			s.t.Errorf("%+v", *end)
		}
		return
	}
	s.Becomes("needs input")
	if a := s.Last(run.Active); !strings.Contains(a.Detail, "which one?") {
		s.t.Errorf("a person is shown %q", a.Detail)
	}
	if err := s.Dial().Answer(s.t.Context(), "the left one"); err != nil {
		s.t.Fatal(err)
	}
	s.done(string(nothing), 0)
	if s.Activities() != "needs input, running" {
		s.t.Error(s.Activities())
	}
}

// What a person types is a prompt, and nothing is handed over until the release.
func (s *stage) isTakenOver() {
	s.plays(nil, task,
		Part{Acts: []Act{Blocked("help me"), Say("waiting")}},
		Part{On: sentBack, Acts: []Act{nothing}},
		Part{On: "let me see", Acts: []Act{Say("it is yours")}})
	s.begins()
	s.Becomes("needs input")
	s.screen.Shows("waiting")
	s.screen.Types("let me see")
	s.Becomes("taken over")
	s.hears("let me see")
	s.screen.Shows("it is yours")
	c := s.Dial()
	if err := c.Answer(s.t.Context(), "x"); err == nil {
		s.t.Error("an answer was typed into a person's conversation")
	}
	if strings.Contains(s.player.Heard(), sentBack) {
		s.t.Error("it was handed back while a person had it")
	}
	if err := c.Release(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.done(string(nothing), 0)
	if s.Activities() != "needs input, taken over, running" {
		s.t.Error(s.Activities())
	}
}

func (s *stage) meetsALimit() {
	s.plays(nil, task,
		Part{Acts: []Act{work, Limit{}}},
		Part{On: "The limit is over", Acts: []Act{Report("made it")}})
	s.begins()
	s.done("made it", 1)
	if s.Activities() != "limited, running" {
		s.t.Error(s.Activities())
	}
	if l := s.Last(run.Limited); l == nil || l.Account != s.Node.Account {
		s.t.Errorf("the limit is recorded as %+v", l)
	}
}

func (s *stage) fails() {
	s.plays(nil, task,
		Part{Acts: []Act{work, Fail{}}},
		Part{On: "The call of the model failed", Acts: []Act{Fail{}}})
	s.begins()
	if s.pane && s.subject.Lasting {
		s.Becomes("needs input")
		if a := s.Last(run.Active); a.Detail == "" {
			s.t.Error("a person is not told what failed")
		}
		if err := s.Dial().Cancel(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		s.ends()
		return
	}
	if end := s.ends(); end.Outcome != dag.Failed || end.Detail == "" && end.Exit == 0 {
		s.t.Errorf("%+v", *end)
	}
}

func (s *stage) isStopped() {
	s.plays(nil, task, Part{Acts: []Act{work, Hold("gate")}})
	s.begins()
	s.at("gate")
	if err := s.Dial().Cancel(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	if end := s.ends(); end.Outcome != dag.Cancelled {
		s.t.Errorf("%+v", *end)
	}
}

// kills kills the program at the gate and waits for the resulting record.
func (s *stage) kills() {
	s.T.Helper()
	s.at("gate")
	pids := s.program()
	if len(pids) == 0 {
		s.t.Fatal("the wrapper has no program")
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stage) isKilled() {
	s.plays(nil, task, Part{Acts: []Act{work, Hold("gate")}})
	s.begins()
	s.kills()
	if !s.kind().Judge {
		if end := s.ends(); end.Outcome != dag.Failed || end.Exit != 137 {
			s.t.Errorf("%+v", *end)
		}
		return
	}
	s.lost()
}

func (s *stage) lost() {
	s.T.Helper()
	s.Eventually("the attempt is lost", func() bool { return s.Last(run.Vanished) != nil })
	if v := s.Last(run.Vanished); v.How != run.HowLost || !strings.Contains(v.Detail, "signal 9") {
		s.t.Errorf("recorded %+v", v)
	}
	s.leavesNothing()
}

func (s *stage) resumes() {
	s.plays(nil, task,
		Part{Acts: []Act{work, Hold("gate"), Say("late")}},
		Part{On: "You were interrupted and are back", Acts: []Act{Report("made it")}})
	s.begins()
	s.kills()
	s.lost()
	s.Lost()
	if s.subject.Later != nil {
		s.subject.Later(s.t, proc.Getenv(s.Env, "HOME"))
	}
	s.begins()
	end := s.done("made it", 1)
	if end.Conversation == "" || end.Conversation != s.Spec.Conversation {
		s.t.Errorf("conversation %q, want %q", end.Conversation, s.Spec.Conversation)
	}
	if n := strings.Count(s.Log(), "> You are a, a coding agent"); n != 1 {
		s.t.Errorf("it was given its prompt %d times", n)
	}
}

// A program that is killed before its first answer has nothing to resume: the next
// one is given the whole prompt.
func (s *stage) beginsAnew() {
	acts := []Act{Hold("gate"), work, Report("made it")}
	s.plays(nil, task, Part{Acts: acts}, Part{On: "prompt-2.md", Acts: acts})
	s.begins()
	s.kills()
	s.lost()
	s.Lost()
	if s.subject.Later != nil {
		s.subject.Later(s.t, proc.Getenv(s.Env, "HOME"))
	}
	s.player.Release("gate")
	s.begins()
	s.done("made it", 1)
	s.gotWhole()
}

// A conversation that the program does not have, as after its home was deleted,
// keeps no agent from its task.
func (s *stage) beginsWithout() {
	acts := []Act{work, Report("made it")}
	s.plays(nil, task, Part{Acts: acts}, Part{On: "prompt-2.md", Acts: acts})
	s.Again("00000000-0000-4000-8000-000000000000")
	s.begins()
	s.done("made it", 1)
	s.gotWhole()
}

// gotWhole checks that the newest attempt was given its whole prompt.
func (s *stage) gotWhole() {
	_, log, _ := strings.Cut(s.Log(), fmt.Sprintf("attempt %d,", s.Spec.Attempt))
	if !strings.Contains(log, "> You are a, a coding agent") {
		s.t.Errorf("attempt %d was not given its prompt:\n%s", s.Spec.Attempt, log)
	}
}

// What an answer used is counted once.
func (s *stage) reportsUse() {
	s.plays(nil, task, Part{Acts: []Act{work, Use{Input: 70_000, Output: 11_000, CacheRead: 300}, Do("true"), Report("made it")}})
	s.begins()
	end := s.done("made it", 1)
	// Other answers use some hundreds.
	in, out := end.Used.Input+end.Used.CacheRead+end.Used.CacheCreate, end.Used.Output
	if in < 70_300 || in >= 80_000 || out < 11_000 || out >= 12_000 {
		s.t.Errorf("used %+v", end.Used)
	}
	if used := s.Recorded().Used; used != end.Used {
		s.t.Errorf("recorded %+v, ended with %+v", used, end.Used)
	}
}

func (s *stage) keepsItsBudget() {
	s.plays(func(n *dag.Node) { n.Budget.Tokens = 50_000 }, task,
		Part{Acts: []Act{Use{Input: 70_000, Output: 10}, Do("true"), Hold("never")}})
	s.begins()
	if end := s.ends(); end.Outcome != dag.Failed || end.Reason != dag.ReasonBudget || !strings.Contains(end.Detail, "50000") {
		s.t.Errorf("%+v", *end)
	}
}

// A long task arrives whole, or in a file that the agent is told to read. What
// was left in the background, in a session of its own, goes with the agent.
func (s *stage) takesMuch() {
	long := task + strings.Repeat("\n$(rm -rf /) `x` \"quoted\" 'single' \\ é 日本 --option", 4000) + "\nthe end"
	pid := filepath.Join(s.t.TempDir(), "pid")
	s.plays(nil, long, Part{Acts: []Act{work,
		Do(fmt.Sprintf("setsid sh -c 'echo $$ > %s.new; mv %[1]s.new %[1]s; exec sleep 1000' </dev/null >/dev/null 2>&1 & until test -e %[1]s; do sleep 0.1; done", pid)),
		Report("made it")}})
	s.begins()
	s.done("made it", 1)
	b, err := os.ReadFile(pid)
	if err != nil {
		s.t.Fatal(err)
	}
	var started int
	if fmt.Sscan(string(b), &started); started == 0 || alive(started) {
		s.t.Errorf("it left process %d", started)
	}
	if strings.Contains(s.player.Heard(), long) {
		return
	}
	file := filepath.Join(s.Run.NodeDir("a"), "prompt-1.md")
	if b, err := os.ReadFile(file); !strings.Contains(string(b), long) || !strings.Contains(s.player.Heard(), file) {
		s.t.Errorf("the task did not arrive: %v; it heard %.300q", err, s.player.Heard())
	}
}
