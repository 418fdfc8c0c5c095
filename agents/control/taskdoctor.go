package control

import (
	"fmt"
	"path/filepath"

	"cmux/agents/control/finding"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree"
)

// mergeTree is the worktree in which tasks are merged.
func (p *Project) mergeTree() string { return filepath.Join(run.Folder(p.Root), "merge-tasks") }

// mergeLock is the lock that a merge of tasks holds.
func (p *Project) mergeLock() string { return filepath.Join(run.Folder(p.Root), "merge-tasks.lock") }

// examineMerge says of a merge of tasks that was cut off how it goes on.
func (p *Project) examineMerge() []finding.Finding {
	const what = "tasks"
	state, err := worktree.ReadMergeState(p.mergeTree() + ".json")
	if err != nil {
		return nil // there is none, or the next merge says what is wrong
	}
	if _, held, err := signals.ReadHolder(p.mergeLock()); err == nil && held {
		return nil
	}
	return []finding.Finding{{What: what, Detail: fmt.Sprintf("a merge of finished tasks into %s was cut off or stopped", state.Target), Try: "cmux tasks merge, which goes on with it"}}
}
