package prompt_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// What a spec carries of earlier attempts is what the prompt tells: few, cut, and
// the output of failed checks once.
func TestPast(t *testing.T) {
	var all []run.Attempt
	for n := range 40 {
		all = append(all, run.Attempt{N: n + 1, Pane: "%1", End: &run.End{
			Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: strings.Repeat("d", 4<<10), Summary: strings.Repeat("s", 60<<10),
			Checks: []run.Check{{Command: "fine", Output: strings.Repeat("f", 8<<10)}, {Command: "broken", Exit: 1, Output: fmt.Sprint(n+1, strings.Repeat("o", 8<<10))}},
		}})
	}
	past := prompt.Past(all, 40) // of which 39 are before it
	b, err := json.Marshal(past)
	if err != nil || len(b) > 24<<10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if past.Omitted != 29 || len(past.Attempts) != 10 || past.Attempts[9].N != 39 {
		t.Errorf("%d omitted, %d told", past.Omitted, len(past.Attempts))
	}
	if s := string(b); strings.Count(s, "ooo") == 0 || strings.Contains(s, "fff") || !strings.Contains(s, `"output":"39o`) || strings.Contains(s, `"output":"38o`) {
		t.Errorf("the outputs told: %.300s", s)
	}
	back := new(run.Past)
	if err := json.Unmarshal(b, back); err != nil || !reflect.DeepEqual(back, past) {
		t.Errorf("it does not travel: %v", err)
	}
	if len(all[0].End.Summary) != 60<<10 || len(all[38].End.Checks) != 2 {
		t.Error("what is recorded was changed")
	}
	for name, none := range map[string]*run.Past{
		"no attempts":   prompt.Past(nil, 1),
		"only this one": prompt.Past([]run.Attempt{{N: 1, Vanished: run.HowLost}}, 1),
		"none is over":  prompt.Past([]run.Attempt{{N: 1}}, 2),
	} {
		if none != nil {
			t.Errorf("%s: %+v", name, none)
		}
	}
}
