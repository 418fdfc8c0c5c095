package verdict

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"cmux/agents/records/event"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// OutputVar is the variable with the file into which a command writes its outputs.
const OutputVar = "CMUX_OUTPUT"

// Publishable returns why an output cannot be published, or nil.
func (v *Verdict) Publishable(key, value string) error {
	if err := run.CheckOutput(key, value); err != nil {
		return err
	}
	if name := run.SecretIn(v.Stage.Env, value); name != "" {
		return fmt.Errorf("the output %s contains the value of $%s: outputs appear in prompts and records, so publish the place of the secret instead", key, name)
	}
	return nil
}

// Published records an output. Only the records have its value, because more people see the
// log.
func (v *Verdict) Published(key, value string) error {
	v.Stage.Show(event.Event{Kind: event.Report, State: string(run.Output), Text: key})
	if v.outputs == nil {
		v.outputs = make(map[string]bool)
	}
	v.outputs[key] = true
	return v.Record(run.Record{Type: run.Output, Key: key, Value: value})
}

// takeOutputs records the outputs in a command's file.
func (v *Verdict) takeOutputs() (*conversation.Fault, error) {
	if v.Judging || v.tookOutputs {
		return nil, nil
	}
	v.tookOutputs = true
	b, err := signals.ReadFile(v.Outputs, run.MaxOutputFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []run.OutputValue
	if err == nil {
		all, err = run.ParseOutputs(b)
	}
	for _, o := range all {
		if err == nil {
			err = v.Publishable(o.Key, o.Value)
		}
	}
	if err != nil {
		return &conversation.Fault{Reason: dag.ReasonChecks, Detail: "$" + OutputVar + ": " + err.Error()}, nil
	}
	for _, o := range all {
		if err := v.Published(o.Key, o.Value); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// unpublished finds declared outputs that the node has not published.
func (v *Verdict) unpublished() (*conversation.Fault, error) {
	if f, err := v.takeOutputs(); f != nil || err != nil {
		return f, err
	}
	earlier := v.Spec.Outputs.Values()
	var missing []string
	for _, key := range v.node.Outputs {
		if _, ok := earlier[key]; !ok && !v.outputs[key] {
			missing = append(missing, key)
		}
	}
	if missing == nil {
		return nil, nil
	}
	return &conversation.Fault{
		Reason: dag.ReasonChecks,
		Detail: "outputs not published: " + strings.Join(missing, ", "),
		Tell:   prompt.Unpublished(missing),
	}, nil
}
