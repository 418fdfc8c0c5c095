package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// Judgement is what a person decides about a node's work.
type Judgement struct {
	Node       string      `json:"node"`
	Verdict    run.Verdict `json:"verdict"`
	Commit     string      `json:"commit,omitempty"`     // that they looked at; empty: what the branch holds now
	Comment    string      `json:"comment,omitempty"`    // sent back: what is to change
	Downstream bool        `json:"downstream,omitempty"` // sent back: what was built on it runs again as well
}

// Judged is what a Judgement comes to.
type Judged struct {
	Commit  string   `json:"commit,omitempty"`  // approved, dropped
	Waits   []string `json:"waits,omitempty"`   // approved: what it is built on and a merge does not take
	Keep    []string `json:"keep,omitempty"`    // sent back: what is built on it and stays as it is
	Retried *Retried `json:"retried,omitempty"` // sent back
}

// Judge records what a person decides about a node's work. What is sent back
// goes on in its conversation.
func (p *Commands) Judge(ctx context.Context, j Judgement) (*Judged, error) {
	if j.Verdict == run.VerdictSentBack {
		return p.sendBack(ctx, j)
	}
	v, i, err := p.Runs.Node(ctx, j.Node)
	if err != nil {
		return nil, err
	}
	if err := runs.Reviewable(&v.Nodes[i]); err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, v.Run.Plan.Root)
	if err != nil {
		return nil, err
	}
	s := p.Runs.Standings(ctx, repo, v)[i]
	switch {
	case s.Tip == "":
		return nil, fmt.Errorf("%s has no branch %s any more", j.Node, v.Nodes[i].Spec.Branch)
	case s.State == runs.ReviewSentBack:
		return nil, hint.New(fmt.Errorf("%s is sent back and waits for a runner", j.Node), "cmux agents resume")
	case j.Commit != "" && j.Commit != s.Tip:
		return nil, hint.New(fmt.Errorf("%s has moved since you looked at it: %.12s -> %.12s", v.Nodes[i].Spec.Branch, j.Commit, s.Tip), "cmux agents review "+j.Node)
	}
	book, err := v.Run.OpenBook()
	if err != nil {
		return nil, err
	}
	err = book.Commit(ctx, run.Record{Type: run.Reviewed, Node: j.Node, How: string(j.Verdict), Tip: s.Tip})
	if err = errors.Join(err, book.Close()); err != nil {
		return nil, err
	}
	res := &Judged{Commit: s.Tip}
	if j.Verdict == run.VerdictApproved {
		res.Waits = s.HeldBy
	}
	return res, nil
}

// sendBack has a node go on, as a comment says.
func (p *Commands) sendBack(ctx context.Context, j Judgement) (*Judged, error) {
	v, i, err := p.Runs.Node(ctx, j.Node)
	if err != nil {
		return nil, err
	}
	n := &v.Nodes[i]
	switch {
	case strings.TrimSpace(j.Comment) == "":
		return nil, project.Usage("cmux agents review "+j.Node+" --send-back TEXT", "the comment is empty: say what is to change")
	case !n.Spec.UsesModel():
		return nil, hint.New(fmt.Errorf("%s is not an agent that can read a comment", j.Node), "cmux agents retry "+j.Node+", or cmux agents review "+j.Node+" --drop")
	case runview.Left(n):
		return nil, hint.New(fmt.Errorf("%s has not ended yet (%s)", j.Node, n.Status.Label), "cmux agents retry "+j.Node)
	}
	res := &Judged{}
	behind, err := v.Run.Plan.Graph.Downstream(i)
	if err != nil {
		return nil, err
	}
	for _, d := range behind {
		if !j.Downstream && runview.Succeeded(&v.Nodes[d]) && v.Nodes[d].Spec.HasBranch() {
			res.Keep = append(res.Keep, v.Nodes[d].Spec.Name)
		}
	}
	res.Retried, err = p.Retry(ctx, Retry{Node: j.Node, Downstream: j.Downstream, Comment: j.Comment})
	return res, err
}
