package verdict

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// maxCheckOutput is how much of the end of a check's output is recorded and
// handed back.
const maxCheckOutput = 8 << 10

// check runs one verify command.
func (v *Verdict) check(command string) (*run.Check, error) {
	began := time.Now()
	s, err := v.step(command, time.Duration(v.node.VerifyTimeout), nil)
	if err != nil {
		return nil, err
	}
	return s.check(command, began), nil
}

// stepEnd is how a check or an on_complete step ended.
type stepEnd struct {
	exit     int
	timedOut bool
	output   string // its end
}

// step is a shell script, or a program if argv is set, that runs for the attempt.
type step struct {
	spec    *run.Spec
	stage   agent.Stage // Env holds Mark
	script  string      // runs where the node works
	file    string      // for a script that is too long for an argument
	argv    []string    // runs at the root of its worktree
	stdin   []string
	timeout time.Duration
	grace   time.Duration
	out     io.Writer
}

// step runs a step and answers messages meanwhile. A step that cannot start ends with 127,
// and its output says why.
func (v *Verdict) step(script string, timeout time.Duration, argv []string, stdin ...string) (*stepEnd, error) {
	v.steps++
	if timeout <= 0 {
		timeout = v.StepTime
	}
	s := step{
		spec: v.Spec, stage: *v.Stage, script: script, argv: argv, stdin: stdin, timeout: timeout, grace: v.Grace, out: v.Out,
		file: filepath.Join(v.Paths.NodeDir(v.node.Name), fmt.Sprintf("step-%d-%d.sh", v.Spec.Attempt, v.steps)),
	}
	s.stage.Mark = Mark(v.Spec, fmt.Sprint(v.Spec.Attempt, "/", v.steps))
	s.stage.Env = append(slices.Clip(s.stage.Env), string(s.stage.Mark))
	var end *stepEnd
	_, err := v.During(func(ctx context.Context) error {
		end = s.run(ctx)
		return nil
	})
	return end, err
}

// run runs the step until it ends, its time is up or ctx ends, and ends the processes it
// left.
func (s step) run(ctx context.Context) *stepEnd {
	end := &stepEnd{}
	keep := &output.Tail{Limit: maxCheckOutput}
	if err := s.carryOut(ctx, end, both{s.out, keep}); err != nil {
		fmt.Fprintf(both{s.out, keep}, "%v\n", err)
		if end.exit == 0 {
			end.exit = 127
		}
	}
	end.output = keep.String()
	return end
}

func (s step) carryOut(ctx context.Context, end *stepEnd, out io.Writer) error {
	var cmd *exec.Cmd
	var err error
	if s.argv != nil {
		s.stage.Dir = s.spec.Place.Dir
		path, err := agent.LookPath(s.argv[0], s.stage.Env)
		if err != nil {
			return err
		}
		cmd = &exec.Cmd{Path: path, Args: s.argv}
	} else {
		if s.stage.Dir, err = s.spec.FindWorkDir(); err != nil {
			return err
		}
		if cmd, err = agent.Shell(s.script, s.file); err != nil {
			return err
		}
	}
	for _, text := range s.stdin {
		cmd.Stdin = strings.NewReader(text)
	}
	if s.stage.Confine = s.stage.Steps; s.argv != nil {
		s.stage.Confine = s.stage.Ours
	}
	p, err := s.stage.Piped(cmd, out)
	if err != nil {
		return err
	}
	timer := time.NewTimer(s.timeout)
	defer timer.Stop()
	select {
	case <-p.Exited():
	case <-timer.C:
		end.timedOut = true
	case <-ctx.Done():
	}
	left, err := p.Finish(context.WithoutCancel(ctx), s.grace)
	if len(left) > 0 && !end.timedOut {
		fmt.Fprintf(s.out, "── cmux: ended what it left running: %s\n", proc.Names(left))
	}
	if end.exit = p.Exit().Code; end.timedOut && end.exit == 0 {
		end.exit = 124
	}
	return err
}

// both writes to two writers that do not fail.
type both struct{ a, b io.Writer }

func (w both) Write(p []byte) (int, error) {
	w.a.Write(p)
	return w.b.Write(p)
}

// check returns the record of a verify command.
func (e *stepEnd) check(command string, began time.Time) *run.Check {
	return &run.Check{
		Command: command, Exit: e.exit, TimedOut: e.timedOut,
		Took: dag.Duration(time.Since(began)), Output: output.Readable(e.output),
	}
}

// RunChecks runs the checks of a node in its workspace with the environment and mark of s.
// It answers no messages. file is for scripts that are too long for an argument. RunChecks
// calls begun before each command and ended with its result. It stops at the first error of
// ended or of ctx, and returns that error.
func RunChecks(ctx context.Context, spec *run.Spec, s agent.Stage, file string, stepTime, grace time.Duration, begun func(command string), ended func(run.Check) error) error {
	c := step{spec: spec, stage: s, file: file, timeout: cmp.Or(max(time.Duration(spec.Def.VerifyTimeout), 0), stepTime), grace: grace, out: s.Out}
	for _, command := range spec.Def.Verify {
		begun(command)
		began := time.Now()
		c.script = command
		end := c.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := ended(*end.check(command, began)); err != nil {
			return err
		}
	}
	return nil
}

// StepVar marks the processes of one check or on_complete step, to tell them from those of
// a running agent.
const StepVar = "CMUX_STEP"

// Mark returns the mark of a step of the attempt, or of checks that a person runs, by its
// id.
func Mark(s *run.Spec, id string) proc.Mark {
	return proc.Mark(fmt.Sprintf("%s=%s/%s/%s", StepVar, s.Frame.Run, s.Node, id))
}
