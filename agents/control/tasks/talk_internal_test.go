package tasks

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// Only what does not fit is talked about, and a merge is none the worse where nobody can.
func TestTalk(t *testing.T) {
	var asked []string
	p := &Tasks{Talk: func(_ context.Context, about string) (string, error) {
		asked = append(asked, about)
		if about == "merge:t3" {
			return "", errors.New("nobody is ready")
		}
		return "merge-t2", nil
	}}
	all := []MergedTask{{ID: "t1", Outcome: TaskMerged}, {ID: "t2", Outcome: TaskConflict}, {ID: "t3", Outcome: TaskConflict}, {ID: "t4", Outcome: TaskCheck}}
	p.talk(t.Context(), all)
	if !slices.Equal(asked, []string{"merge:t2", "merge:t3"}) {
		t.Errorf("asked about %v", asked)
	}
	if all[1].Room != "merge-t2" || all[0].Room+all[2].Room+all[3].Room != "" || !slices.Equal(all[2].Notes, []string{"nobody is ready"}) {
		t.Errorf("%+v", all)
	}
	(&Tasks{}).talk(t.Context(), all)
}
