package commands

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/kinds/question"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/hint"
)

// Question is what an agent asks a person.
type Question struct {
	Node string `json:"node"`
	Text string `json:"text"`
	question.Question
	Age time.Duration `json:"age"` // it was asked so long ago
}

// Question is what the agent of a node asks now.
func (p *Commands) Question(ctx context.Context, node string) (*Question, error) {
	v, i, err := p.Runs.Node(ctx, node)
	if err != nil {
		return nil, err
	}
	n := &v.Nodes[i]
	if err := answerable(n); err != nil {
		return nil, err
	}
	if !runview.Asks(n) {
		return nil, hint.New(fmt.Errorf("%s asks nothing (%s)", node, n.Status.Label), "cmux agents answer "+node+" TEXT, which tells it something all the same")
	}
	return &Question{Node: node, Text: n.Status.Reason, Question: runs.Asked(n), Age: n.Status.Age}, nil
}

// answerable refuses a node whose agent nothing can be said to.
func answerable(n *run.NodeView) error {
	name := n.Spec.Name
	if n.Spec.Role != dag.RoleGate {
		return runs.Live(n)
	}
	if runview.Succeeded(n) {
		return fmt.Errorf("%s is a gate, and done already", name)
	}
	return hint.New(fmt.Errorf("%s is a gate", name), "cmux agents approve "+name)
}

// Answer is what a person says to an agent. A number stands for the option in
// that place.
type Answer struct {
	Node string `json:"node"`
	Text string `json:"text"`
	// Question names the one that it answers, empty for none: another one is not
	// answered by it. Nil: it answers whatever is asked.
	Question *string `json:"question,omitempty"`
}

// Answered is what has become of an Answer.
type Answered struct {
	Taken
	Asked bool `json:"asked"` // else the agent reads it when its turn is over
}

// Word says what happened to an answer.
func (a *Answered) Word() string {
	switch a.Outcome {
	case "waits":
		return "not read yet: " + a.Why
	case "told":
		if a.Asked {
			return "answered" // the agent asked, and has the answer
		}
		return "told"
	case "answered":
		if a.Why != "" {
			return a.Why // it says which question, and whether that is a yes
		}
		return "answered"
	}
	if !a.Asked {
		return "told; the agent asked nothing"
	}
	return "answered" // it is not carried out yet, or by an older version of cmux
}

// Answer answers the agent of a node, or tells it something.
func (p *Commands) Answer(ctx context.Context, a Answer) (Answered, error) {
	v, i, err := p.Runs.Node(ctx, a.Node)
	if err != nil {
		return Answered{}, err
	}
	n := &v.Nodes[i]
	if err := answerable(n); err != nil {
		return Answered{}, err
	}
	if strings.TrimSpace(a.Text) == "" {
		return Answered{}, project.Usage("", "the answer is empty")
	}
	if a.Question != nil && *a.Question != n.Asked() {
		return Answered{}, run.AsksElse(a.Node)
	}
	isAsked := runview.Asks(n)
	if isAsked {
		if err := Offered(runs.Asked(n), a.Text, "cmux agents answer "+a.Node); err != nil {
			return Answered{}, err
		}
	}
	t, err := p.order(ctx, v, run.Request{Op: run.OpAnswer, Node: a.Node, Text: a.Text, Question: a.Question})
	if err == nil && isAsked {
		err = p.Settle(ctx, runs.Asked(n).Message)
	}
	return Answered{t, isAsked}, err
}

// Offered refuses an answer that q does not offer, and one that may be a yes or a no.
// command gives an answer.
func Offered(q question.Question, answer, command string) error {
	if q.Unclear(answer) {
		return project.Usage(command+" yes, or "+command+" 'no, and why'", "%q is neither a yes nor a no: nothing was sent", answer)
	}
	return isOption(q, answer)
}

// isOption refuses a number beyond the options of the question that it is for, unless
// it is the label of an option. To the agent such a number means nothing. One line for
// several questions may be meant for any of them.
func isOption(q question.Question, answer string) error {
	lines := strings.Split(strings.TrimSpace(answer), "\n")
	each := len(lines) == len(q.Parts)
	var refused error
	for i, part := range q.Parts {
		line := answer
		if each {
			line = lines[i]
		}
		number, err := strconv.Atoi(strings.TrimSpace(line))
		options := len(part.Options)
		if err != nil || options == 0 || number >= 1 && number <= options || isLabel(part.Options, strings.TrimSpace(line)) {
			if each {
				continue
			}
			return nil
		}
		which := "the question"
		if len(q.Parts) > 1 {
			which = fmt.Sprintf("question %d of %d", i+1, len(q.Parts))
		}
		if refused = project.Usage("", "there is no option %d: %s has %s", number, which, say.Count(options, "option")); each {
			return refused
		}
	}
	return refused
}

// isLabel reports whether an answer is the label of an option, with or without the
// description behind it.
func isLabel(options []string, answer string) bool {
	return slices.ContainsFunc(options, func(option string) bool {
		label, _, _ := strings.Cut(option, ": ")
		return option == answer || label == answer
	})
}
