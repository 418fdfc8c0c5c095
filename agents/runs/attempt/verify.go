package attempt

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/fence"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/separate"
)

// Verify runs the checks of j's node as its attempt does, in the same place with the same
// environment, but without its identity: they cannot report. It calls begun before each
// command and ended with its result. An error of ended stops it. It returns that error or
// the one of ctx.
// came of it; its error ends them. The error is that or the one of ctx.
func Verify(ctx context.Context, j Job, out io.Writer, begun func(command string), ended func(run.Check) error) error {
	limits := j.Limits.withDefaults()
	env, err := environ(&j)
	if err != nil {
		return err
	}
	mark := verdict.Mark(j.Spec, fmt.Sprint("verify/", os.Getpid()))
	env = slices.DeleteFunc(env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == proc.AttemptVar || name == "CMUX_TOKEN" || name == "CMUX_SOCKET" || name == "CMUX_PANE" || strings.HasPrefix(name, workspace.TraceVar)
	})
	stage := agent.Stage{
		Name: j.Spec.Def.Name, Tree: j.Spec.Place.Tree, Env: append(env, string(mark)),
		Out: out, Spawner: j.Spawner, Mark: mark, Drain: limits.Drain,
	}
	if wants := j.Spec.Def.Fence; wants.On() {
		if _, err := fence.Support(); err == nil {
			f, err := newFencing(j.Spec, j.Paths, stage.Env, func(format string, args ...any) { fmt.Fprintf(out, "cmux: "+format+"\n", args...) })
			if err != nil {
				return fmt.Errorf("fence: %w", err)
			}
			defer func() { _ = f.drop() }()
			if p := j.Spec.Place; p.Tree == "" && p.Dir != j.Spec.Frame.Root {
				if common, err := commonOf(j.Spec.Frame.Root); err == nil {
					if w, err := separate.Find(common, p.Dir); err == nil { // the worktree of a merge
						f.places = append(f.places, p.Dir)
						if err := w.Mark(); err != nil {
							return fmt.Errorf("fence: %w", err)
						}
					}
				}
			}
			stage.Env, stage.Steps = f.env, f.confine
		} else if wants.Mode == dag.FenceRequire {
			return fmt.Errorf("fence: require: %w", err)
		}
	}
	file := filepath.Join(j.Paths.NodeDir(j.Spec.Def.Name), fmt.Sprintf("verify-%d.sh", os.Getpid()))
	return verdict.RunChecks(ctx, j.Spec, stage, file, limits.Step, limits.Grace, begun, ended)
}
