package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/records/event"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// maxNeeds bounds what the outputs of others take in an environment, which a
// program cannot be started with when it is too large.
const maxNeeds = 256 << 10

const (
	needsPrefix = "CMUX_NEEDS_"
	outputVar   = "CMUX_OUTPUT"
)

// KeepsFiles reports whether an attempt of a command needs the folder of its
// node from the beginning. Without a worktree it keeps nothing there but its
// output, whose file makes the folder.
func KeepsFiles(s *run.Spec) bool { return s.Place.Tree != "" || len(s.Def.Verify) > 0 }

// outputFile is where a command leaves what it publishes.
func outputFile(j *Job) string {
	return filepath.Join(outputDir(j), fmt.Sprintf("%s-%d", j.Spec.Node, j.Spec.Attempt))
}

// outputDir is the folder of those of all nodes, of which most have nothing else
// to keep. No node's own has this name.
func outputDir(j *Job) string { return filepath.Join(j.Paths.Dir, ".outputs") }

// needs are the variables in which the node finds what its dependencies have
// published. Of two with one name the first in depends_on counts.
func needs(deps []run.Dependency) map[string]string {
	vars := make(map[string]string)
	size := 0
	for _, d := range deps {
		for _, key := range slices.Sorted(maps.Keys(d.Outputs)) {
			name, value := dag.OutputVar(d.Name, key), d.Outputs[key]
			if _, taken := vars[name]; taken || strings.ContainsRune(value, 0) {
				continue
			}
			if size += len(name) + len(value) + 2; size > maxNeeds {
				return vars
			}
			vars[name] = value
		}
	}
	return vars
}

// publish takes in an output that the agent publishes.
func (a *attempt) publish(m *Message, reply *Reply) error {
	if err := a.publishable(m.Key, m.Text); err != nil {
		reply.Error = err.Error()
		return nil
	}
	reply.Text = "published " + m.Key
	return a.published(m.Key, m.Text)
}

// publishable says why an output cannot be published.
func (a *attempt) publishable(key, value string) error {
	if err := run.CheckOutput(key, value); err != nil {
		return err
	}
	if name := run.SecretIn(a.stage.Env, value); name != "" {
		return fmt.Errorf("the output %s holds the value of $%s: outputs stand in prompts and records, so publish where it is kept instead", key, name)
	}
	return nil
}

// published records an output. Its value is in the records alone: a log is shown
// to more people.
func (a *attempt) published(key, value string) error {
	a.stage.Show(event.Event{Kind: event.Report, State: string(OpOutput), Text: key})
	if a.outputs == nil {
		a.outputs = make(map[string]bool)
	}
	a.outputs[key] = true
	return a.record(run.Record{Type: run.Output, Key: key, Value: value})
}

// takeOutputs takes in what a command has left in its file of outputs.
func (a *attempt) takeOutputs() (*fault, error) {
	if a.kind.Judge || a.tookOutputs {
		return nil, nil
	}
	a.tookOutputs = true
	b, err := signals.ReadFile(outputFile(a.job), run.MaxOutputFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []run.OutputValue
	if err == nil {
		all, err = run.ParseOutputs(b)
	}
	for _, o := range all {
		if err == nil {
			err = a.publishable(o.Key, o.Value)
		}
	}
	if err != nil {
		return &fault{reason: dag.ReasonChecks, detail: "$" + outputVar + ": " + err.Error()}, nil
	}
	for _, o := range all {
		if err := a.published(o.Key, o.Value); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// unpublished looks for outputs that the node declares and has not published.
func (a *attempt) unpublished() (*fault, error) {
	if f, err := a.takeOutputs(); f != nil || err != nil {
		return f, err
	}
	earlier := a.spec.Outputs.Values()
	var missing []string
	for _, key := range a.node.Outputs {
		if _, ok := earlier[key]; !ok && !a.outputs[key] {
			missing = append(missing, key)
		}
	}
	if missing == nil {
		return nil, nil
	}
	return &fault{
		reason: dag.ReasonChecks,
		detail: "outputs not published: " + strings.Join(missing, ", "),
		tell:   prompt.Unpublished(missing),
	}, nil
}
