package prompt

import (
	"cmux/agents/runs/run"
	"cmux/dag"
)

// Past is what attempt n of a node learns of the attempts that are over, oldest
// first: no more of them than a prompt has room for, since it travels in the
// attempt's spec. Nil: there is nothing to tell.
func Past(attempts []run.Attempt, n int) *run.Past {
	var past run.Past
	for i := range attempts {
		if a := &attempts[i]; a.N < n && a.Over() {
			past.Attempts = append(past.Attempts, run.Former{N: a.N, Vanished: a.Vanished, End: a.End})
		}
	}
	if past.Omitted = max(0, len(past.Attempts)-maxAttempts); past.Omitted > 0 {
		past.Attempts = past.Attempts[past.Omitted:]
	}
	if len(past.Attempts) == 0 {
		return nil
	}
	for i := range past.Attempts {
		past.Attempts[i].End = told(past.Attempts[i].End, i == len(past.Attempts)-1)
	}
	return &past
}

// told is the text about an end: of the newest also what its checks said that
// it failed by.
func told(e *run.End, newest bool) *run.End {
	if e == nil {
		return nil
	}
	t := &run.End{
		Outcome: e.Outcome, Exit: e.Exit, Reason: e.Reason, Snapshot: e.Snapshot,
		Detail: Cut(e.Detail, maxLine), Summary: Cut(e.Summary, maxLine),
	}
	if newest && e.Reason == dag.ReasonChecks {
		for _, k := range e.Checks {
			if k.Exit != 0 && k.Output != "" {
				t.Checks = append(t.Checks, k)
			}
		}
	}
	return t
}
