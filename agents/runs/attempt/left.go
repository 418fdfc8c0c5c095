package attempt

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// examineEnd finds out what is there of an agent whose program has ended. For a
// kind that judges itself its exit code is its report. For all others it proves
// nothing: one that died as nobody ends an agent is lost, one that failed has
// failed, and what may have been a person's doing, or another program's, is a
// person's to decide.
func (a *attempt) examineEnd() error {
	if a.refuses() {
		return a.beginAnew()
	}
	if a.stays() {
		return a.revive()
	}
	exit := a.agent.Exit()
	words := ""
	if !a.Came {
		words = a.lastWords()
	}
	if err := a.endAgent(); err != nil {
		return err
	}
	switch {
	case !a.kind.Judge:
		return a.examineExit(exit)
	case a.Overridden && a.end.Exit != 0:
		return &final{End: run.End{Outcome: dag.Failed, Exit: a.end.Exit}}
	case a.Overridden:
		return a.feed(conversation.LeftBehind{})
	case crashed(exit):
		return &LostError{exit}
	case !byHand(exit):
		return &final{End: run.End{Outcome: dag.Failed, Exit: exit.Code, Detail: withWords("ended without a report", words)}}
	}
	// At a shutdown the program may be told before this process is.
	doubt := &final{End: run.End{Outcome: dag.Failed, Exit: exit.Code}}
	if err := a.believe(doubt); err != error(doubt) {
		return err
	}
	detail := ""
	if !a.Overridden {
		var err error
		if detail, err = a.findings(exit); err != nil {
			return err
		}
	}
	return a.feed(conversation.LeftBehind{Exit: exit.Code, Detail: detail})
}

// examineExit judges a program whose exit code is its report.
func (a *attempt) examineExit(exit proc.Exit) error {
	if exit.Code == 0 && exit.Err == nil {
		if err := a.judgeOnce(); err != nil {
			return err
		}
		return a.feed(conversation.Judged{})
	}
	detail := ""
	if exit.Err != nil || exit.Signal != 0 {
		detail = exit.String() // the label says the exit code by itself
	}
	if r := a.Report; r != nil {
		if r.Blocked {
			detail = r.Text
		} else {
			a.end.Summary = r.Text
		}
	}
	return &final{End: run.End{Outcome: dag.Failed, Exit: exit.Code, Detail: detail}}
}

// crashed reports whether a program died in a way that nobody chooses for an
// agent to end by.
func crashed(e proc.Exit) bool {
	switch e.Signal {
	case syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS:
		return true
	}
	return false
}

// byHand reports whether a program ended as one does that is told to: by 0, by
// a signal that asks for it, or with the code of one.
func byHand(e proc.Exit) bool {
	if e.Err != nil {
		return false
	}
	signal := e.Signal
	if signal == 0 && e.Code > 128 {
		signal = syscall.Signal(e.Code - 128)
	}
	switch signal {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return signal == 0 && e.Code == 0
}

// findings says what is there of the work of an agent that has ended without a
// report, its checks included. Nothing is changed by it.
func (a *attempt) findings(exit proc.Exit) (string, error) {
	how := fmt.Sprintf("exit %d", exit.Code)
	if exit.Signal != 0 {
		how = exit.String()
	}
	var there []string
	add := func(format string, args ...any) { there = append(there, fmt.Sprintf(format, args...)) }
	f, err := a.verify("")
	if err != nil {
		return "", err
	}
	if a.tree != nil && a.node.HasBranch() {
		err := a.git(func(ctx context.Context) error { return a.work(ctx, add) })
		if _, ended := err.(*final); ended {
			add("what git says of it is not known (%v)", err) // the person is asked all the same
		} else if err != nil {
			return "", err
		}
	}
	switch {
	case f != nil:
		add("its check failed (%s)", oneLine(f.detail))
	case len(a.node.Verify) > 0:
		add("its checks pass")
	}
	detail := "ended without a report (" + how + ")"
	if len(there) > 0 {
		detail += ": " + strings.Join(there, ", ")
	}
	return detail, nil
}

// work tells what the branch and the worktree hold of the agent's.
func (a *attempt) work(ctx context.Context, add func(string, ...any)) error {
	n, err := a.tree.commits(ctx, a.ownStart)
	if err != nil {
		return err
	}
	switch n {
	case 0:
		add("no commit")
	case 1:
		add("1 commit")
	default:
		add("%d commits", n)
	}
	dirt, err := a.tree.repo.Uncommitted(ctx, a.tree.lent.Path)
	if err != nil {
		return err
	}
	if !dirt.Clean() {
		add("not committed: %s (%s)", dirt, shown(dirt.Paths))
	}
	f, err := a.scope(ctx)
	if err == nil && f != nil {
		add("%s", f.detail)
	}
	return err
}

// refuses reports whether the program ended because it cannot go on in its
// conversation: it was to go on there, gave no sign, and failed by itself.
func (a *attempt) refuses() bool {
	r, ok := a.agent.(agent.Refuser)
	if !ok || a.Overridden || a.Came || !r.Refused() {
		return false
	}
	exit := a.agent.Exit()
	return exit.Err == nil && !crashed(exit) && !byHand(exit)
}

// beginAnew starts the program again in a new conversation, which is told the
// whole task. The old conversation is kept for a person's next try until the
// program says which conversation it has.
func (a *attempt) beginAnew() error {
	a.refused = a.stage.Conversation
	a.note("the agent's program did not start in conversation %s (%s): cmux starts it in a new conversation with its whole task", a.refused, withWords(a.agent.Exit().String(), a.lastWords()))
	if err := a.endAgent(); err != nil {
		return err
	}
	a.end.Exit = 0
	return a.feed(conversation.Refused{Said: a.launched.Said})
}

// maxWords bounds what is told of a program's last output.
const maxWords = 300

// lastWords returns what the program printed before it ended, as one line.
func (a *attempt) lastWords() string {
	said := ""
	if s, ok := a.agent.(agent.Speaker); ok {
		said = s.LastWords(a.ctx)
	}
	if said == "" {
		said = a.out.Said()
	}
	var lines []string
	for line := range strings.Lines(output.Readable(said)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "── cmux:") {
			lines = append(lines, line)
		}
	}
	said = strings.Join(lines, "; ")
	if n := len(said) - maxWords; n > 0 {
		said = "…" + strings.ToValidUTF8(said[n:], "")
	}
	return said
}

// withWords adds a program's last output to how it ended.
func withWords(how, words string) string {
	if words == "" {
		return how
	}
	return how + ": " + words
}
