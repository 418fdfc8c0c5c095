package tasks

import (
	"fmt"
	"path/filepath"

	"cmux/agents/control/finding"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree"
)

// MergeTree is the worktree in which tasks are merged.
func (p *Tasks) MergeTree() string { return filepath.Join(run.Folder(p.Root), "merge-tasks") }

// mergeLock is the lock that a merge of tasks holds.
func (p *Tasks) mergeLock() string { return filepath.Join(run.Folder(p.Root), "merge-tasks.lock") }

// ExamineMerge says of a merge of tasks that was cut off how it goes on.
func (p *Tasks) ExamineMerge() []finding.Finding {
	const what = "tasks"
	state, err := worktree.ReadMergeState(p.MergeTree() + ".json")
	if err != nil {
		return nil // there is none, or the next merge says what is wrong
	}
	if _, held, err := signals.ReadHolder(p.mergeLock()); err == nil && held {
		return nil
	}
	return []finding.Finding{{What: what, Detail: fmt.Sprintf("a merge of finished tasks into %s was cut off or stopped", state.Target), Try: "cmux tasks merge, which continues it"}}
}
