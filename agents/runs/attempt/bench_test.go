package attempt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// One headless attempt of /bin/true (environment, log, program, end) beside the
// same program with its output read and nothing else.
func BenchmarkRun(b *testing.B) {
	root := b.TempDir()
	r := &run.Run{Paths: run.Paths{Dir: filepath.Join(root, "run")}, Plan: run.Plan{ID: "bench", Root: root}}
	if err := os.MkdirAll(r.NodeDir("a"), 0o755); err != nil {
		b.Fatal(err)
	}
	spawner, err := proc.NewSpawner()
	if err != nil {
		b.Fatal(err)
	}
	defer spawner.Close()
	job := attempt.Job{
		Paths: r.Paths, Home: r,
		Spec: &run.Spec{Node: "a", Frame: r.Frame(), Def: &dag.Node{Name: "a", Agent: dag.KindCommand, Role: dag.RoleReview, Task: "exec /bin/true", Timeout: dag.Duration(time.Hour)},
			Attempt: 1, Headless: true, Place: run.Place{Dir: root}},
		Env: os.Environ(), Kinds: agent.NewKinds(command.Kind()), Spawner: spawner,
		Record: func(run.Record) error { return nil },
	}
	b.Run("by=exec", func(b *testing.B) {
		for b.Loop() {
			if _, err := exec.Command("/bin/sh", "-c", "--", job.Spec.Def.Task).CombinedOutput(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("by=attempt", func(b *testing.B) { benchmarkRun(b, job) })
}

func benchmarkRun(b *testing.B, job attempt.Job) {
	b.ReportAllocs()
	for b.Loop() {
		end, err := attempt.Run(b.Context(), job)
		if err != nil || end.Outcome != dag.Done {
			b.Fatal(end, err)
		}
	}
}
