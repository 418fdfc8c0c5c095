package control

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cmux/agents/control/say"
	"cmux/agents/guard"
	"cmux/agents/run"
	"cmux/dag"
)

// Question is what an agent asks a person.
type Question struct {
	Node  string        `json:"node"`
	Text  string        `json:"text"`
	Parts []Part        `json:"parts"` // the questions that it is: the answer has a line for each
	Age   time.Duration `json:"age"`   // it was asked so long ago
}

// Part is one of the questions that an agent asks at once.
type Part struct {
	Text    string   `json:"text"`
	Options []string `json:"options"` // an answer may name one by its number, from 1 on
}

// parts takes a question apart, as it was put together by the guard.
func parts(question string) []Part {
	all := make([]Part, guard.Questions(question))
	at, option := 0, 1
	for line := range strings.Lines(question) {
		line = strings.TrimRight(line, "\n")
		if text, ok := strings.CutPrefix(line, fmt.Sprintf("(%d of %d) ", at+2, len(all))); ok && at+1 < len(all) {
			at, option, line = at+1, 1, text
		} else if text, ok := strings.CutPrefix(line, fmt.Sprintf("  %d. ", option)); ok {
			all[at].Options = append(all[at].Options, text)
			option++
			continue
		} else if at == 0 && all[0].Text == "" && len(all) > 1 {
			line = strings.TrimPrefix(line, fmt.Sprintf("(1 of %d) ", len(all)))
		}
		if all[at].Text != "" {
			all[at].Text += "\n"
		}
		all[at].Text += line
	}
	return all
}

// Question is what the agent of a node asks now.
func (p *Project) Question(ctx context.Context, node string) (*Question, error) {
	v, i, err := p.node(ctx, node)
	if err != nil {
		return nil, err
	}
	n := &v.Nodes[i]
	if err := answerable(n); err != nil {
		return nil, err
	}
	if !asks(n) {
		return nil, &Hint{Err: fmt.Errorf("%s asks nothing (%s)", node, n.Status.Label), Try: "cmux agents answer " + node + " TEXT, which tells it something all the same"}
	}
	return &Question{Node: node, Text: n.Status.Reason, Parts: parts(n.Status.Reason), Age: n.Status.Age}, nil
}

// answerable refuses a node whose agent nothing can be said to.
func answerable(n *run.NodeView) error {
	name := n.Spec.Name
	if n.Spec.Role != dag.RoleGate {
		return live(n)
	}
	if Succeeded(n) {
		return fmt.Errorf("%s is a gate, and done already", name)
	}
	return &Hint{Err: fmt.Errorf("%s is a gate", name), Try: "cmux agents approve " + name}
}

// Answer is what a person says to an agent. A number stands for the option in
// that place.
type Answer struct {
	Node string `json:"node"`
	Text string `json:"text"`
}

// Answered is what has become of an Answer.
type Answered struct {
	Taken
	Asked bool `json:"asked"` // else the agent reads it when its turn is over
}

// Answer answers the agent of a node, or tells it something.
func (p *Project) Answer(ctx context.Context, a Answer) (Answered, error) {
	v, i, err := p.node(ctx, a.Node)
	if err != nil {
		return Answered{}, err
	}
	n := &v.Nodes[i]
	if err := answerable(n); err != nil {
		return Answered{}, err
	}
	if strings.TrimSpace(a.Text) == "" {
		return Answered{}, Usage("", "the answer is empty")
	}
	asked := asks(n)
	if asked {
		if err := isOption(n.Status.Reason, a.Text); err != nil {
			return Answered{}, err
		}
	}
	t, err := p.order(ctx, v, run.Request{Op: run.OpAnswer, Node: a.Node, Text: a.Text})
	return Answered{t, asked}, err
}

// isOption refuses a number beyond the options of the one question that is
// asked: it would reach the agent as words that mean nothing.
func isOption(question, answer string) error {
	number, err := strconv.Atoi(strings.TrimSpace(answer))
	asked := parts(question)
	if err != nil || len(asked) > 1 {
		return nil
	}
	options := len(asked[0].Options)
	if options == 0 || number >= 1 && number <= options {
		return nil
	}
	return Usage("", "there is no option %d: the question has %s", number, say.Count(options, "option"))
}
