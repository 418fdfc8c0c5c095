package attempt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// What a person said is told however the attempt ends before anybody has read it.
func TestUnreadIsTold(t *testing.T) {
	talker := agent.Kind{Name: "talker", Judge: true, New: func(*agent.Stage) (agent.Agent, error) {
		return nil, errors.New("there is no such program")
	}}
	const inDoubt = "it is stopped before its failure counts"
	for name, end := range map[string]func(f *fixture, interrupt func()){
		"its program cannot be started": func(f *fixture, _ func()) {
			write(f.t, filepath.Join(f.job.Spec.Place.Dir, "go"), "")
		},
		"its setup fails": func(f *fixture, _ func()) {
			write(f.t, filepath.Join(f.job.Spec.Place.Dir, "fail"), "")
		},
		inDoubt: func(f *fixture, _ func()) {
			write(f.t, filepath.Join(f.job.Spec.Place.Dir, "fail"), "")
			eventually(f.t, "its setup fails", func() bool {
				_, err := os.Stat(filepath.Join(f.job.Spec.Place.Dir, "failed"))
				return err == nil
			})
			f.say(attempt.Message{Op: attempt.OpAnswer, Text: "and docs"})
			f.say(attempt.Message{Op: attempt.OpStop})
		},
		"it is stopped":     func(f *fixture, _ func()) { f.say(attempt.Message{Op: attempt.OpStop}) },
		"it is interrupted": func(_ *fixture, interrupt func()) { interrupt() },
	} {
		t.Run(name, func(t *testing.T) {
			f := inTree(t, dag.Node{Task: "talk", Agent: "talker"})
			f.job.Kinds = agent.NewKinds(command.Kind(), talker)
			f.plan(func(p *run.Plan) {
				p.Graph = &dag.Graph{Setup: []string{"echo > begun; while [ ! -e go ]; do [ ! -e fail ] || { echo > failed; exit 3; }; sleep 0.01; done"}}
			})
			said := "use tabs\nand tests"
			if name == inDoubt {
				f.job.Limits.Doubt = attempt.Doubt{Signal: time.Minute, Other: time.Minute, Ending: time.Minute}
				said += "\nand docs"
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			wait := f.start(ctx)
			eventually(t, "its setup runs", func() bool {
				_, err := os.Stat(filepath.Join(f.job.Spec.Place.Dir, "begun"))
				return err == nil
			})
			for _, text := range []string{"use tabs", "and tests"} {
				if r := f.say(attempt.Message{Op: attempt.OpAnswer, Text: text}); r.Error != "" {
					t.Fatal(r.Error)
				}
			}
			end(f, func() { cancel(attempt.ErrInterrupted) })
			got, err := wait()
			if err == nil && got.Outcome != dag.Failed {
				t.Errorf("it ended %+v", got)
			}
			if n := strings.Count(f.notes(), "the agent may not have read: "+said); n != 1 || strings.Count(f.notes(), "use tabs") != 1 {
				t.Errorf("it is told %d times: %s", n, f.notes())
			}
			f.leaveNothing()
		})
	}
}

// A merge without a task has nobody who could read an answer.
func TestAMergeTakesNoAnswers(t *testing.T) {
	f := inTree(t, dag.Node{Role: dag.RoleMerge, Agent: "talker"})
	f.job.Kinds = agent.NewKinds(command.Kind(), agent.Kind{Name: "talker", Judge: true})
	f.plan(func(p *run.Plan) {
		p.Graph = &dag.Graph{Setup: []string{"echo > ignored; while [ -e ignored ]; do sleep 0.1; done"}}
	})
	wait := f.start(t.Context())
	eventually(t, "its setup runs", func() bool {
		_, err := os.Stat(filepath.Join(f.job.Spec.Place.Dir, "ignored"))
		return err == nil
	})
	if r := f.say(attempt.Message{Op: attempt.OpAnswer, Text: "use tabs"}); !strings.Contains(r.Error, "takes no answers") {
		t.Errorf("it takes it: %+v", r)
	}
	if err := os.Remove(filepath.Join(f.job.Spec.Place.Dir, "ignored")); err != nil {
		t.Fatal(err)
	}
	if end, err := wait(); err != nil || end.Outcome != dag.Done {
		t.Errorf("%+v, %v", end, err)
	}
}
