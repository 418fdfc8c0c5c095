package control

import (
	"context"
	"fmt"
	"strings"

	"cmux/agents/control/commands"
	"cmux/agents/control/letters"
	"cmux/agents/control/project"
	"cmux/agents/control/runview"
	"cmux/agents/control/tasks"
	"cmux/agents/org/task"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/worktree/hint"
)

// Comments are what a person has to say about the changes of a node or a task. They
// go back to its agent as one message.
type Comments struct {
	Text       string    `json:"text,omitempty"`       // about all of it
	On         []Comment `json:"on,omitempty"`         // about places
	Downstream bool      `json:"downstream,omitempty"` // of a node that is done: what was built on it runs again as well
}

// Comment is about a place of a changed file.
type Comment struct {
	Path  string `json:"path"`
	Line  int    `json:"line,omitempty"`  // from 1 on; 0: the whole file
	To    int    `json:"to,omitempty"`    // the last of several lines; 0: there is one
	Old   bool   `json:"old,omitempty"`   // the lines are those before the change
	Quote string `json:"quote,omitempty"` // what stands there
	Text  string `json:"text"`
}

// How comments went back.
const (
	CommentsTold     = "told"      // the agent reads them in its conversation: at once, or when its turn is over
	CommentsSentBack = "sent back" // the node continues its work, as they say
	CommentsTask     = "task"      // a new task, which begins with the work of this one
)

// Commented is what has become of Comments.
type Commented struct {
	How  string           `json:"how"`  // told, sent back, task
	Text string           `json:"text"` // as the agent reads it
	Node *commands.Judged `json:"node"` // sent back
	Sent *letters.Sent    `json:"sent"` // told, by message
	Task *tasks.TaskView  `json:"task"` // task
	Note string           `json:"note,omitempty"`
}

const (
	maxComments    = 200
	maxCommentText = 48 << 10
	maxQuote       = 300
)

// compose is what the agent is told.
func (c *Comments) compose() (string, error) {
	if strings.TrimSpace(c.Text) == "" && len(c.On) == 0 {
		return "", project.Usage("", "there is no comment: say what is to change")
	}
	if len(c.On) > maxComments {
		return "", project.Usage("", "there are %d comments; at most %d go at once", len(c.On), maxComments)
	}
	var b strings.Builder
	if text := strings.TrimSpace(c.Text); text != "" {
		b.WriteString(harmless.Text(text) + "\n")
	}
	if len(c.On) > 0 {
		fmt.Fprintf(&b, "%s on your changes:\n", say.Count(len(c.On), "comment"))
	}
	for i, o := range c.On {
		if strings.TrimSpace(o.Text) == "" {
			return "", project.Usage("", "comment %d, on %s, is empty", i+1, say.Line(o.Path))
		}
		if o.Path == "" || o.Line < 0 || o.To != 0 && o.To < o.Line {
			return "", project.Usage("", "comment %d has no place: it wants a path, and lines in order", i+1)
		}
		fmt.Fprintf(&b, "\n%d. %s\n", i+1, o.place())
		if quote := strings.TrimRight(o.Quote, "\n"); quote != "" {
			if len(quote) > maxQuote {
				quote = strings.ToValidUTF8(quote[:maxQuote], "") + "…"
			}
			b.WriteString("   > " + strings.ReplaceAll(harmless.Text(quote), "\n", "\n   > ") + "\n")
		}
		b.WriteString("   " + strings.ReplaceAll(harmless.Text(strings.TrimSpace(o.Text)), "\n", "\n   ") + "\n")
	}
	if b.Len() > maxCommentText {
		return "", project.Usage("", "the comments are %d bytes long; at most %d go at once", b.Len(), maxCommentText)
	}
	return strings.TrimSpace(b.String()), nil
}

// place is where a comment stands.
func (o *Comment) place() string {
	at := say.Line(o.Path)
	switch {
	case o.To > o.Line && o.Line > 0:
		at += fmt.Sprintf(", lines %d to %d", o.Line, o.To)
	case o.Line > 0:
		at += fmt.Sprintf(":%d", o.Line)
	}
	if o.Old && o.Line > 0 {
		at += " (as it was before)"
	}
	return at
}

// CommentNode has the agent of a node read comments: in its conversation where it is
// at work, and else by sending its work back.
func (p *Project) CommentNode(ctx context.Context, node string, c Comments) (*Commented, error) {
	text, err := c.compose()
	if err != nil {
		return nil, err
	}
	v, i, err := p.Runs().Node(ctx, node)
	if err != nil {
		return nil, err
	}
	out := &Commented{How: CommentsTold, Text: text}
	if n := &v.Nodes[i]; n.Fact.Live() && !runview.Succeeded(n) {
		if !n.Spec.UsesModel() {
			return nil, fmt.Errorf("%s is not an agent that can read a comment", node)
		}
		told, err := p.Commands().Answer(ctx, commands.Answer{Node: node, Text: text})
		out.Note = told.Note
		return out, err
	}
	out.How = CommentsSentBack
	out.Node, err = p.Commands().Judge(ctx, commands.Judgement{Node: node, Verdict: run.VerdictSentBack, Comment: text, Downstream: c.Downstream})
	return out, err
}

// CommentTask has the agent of a task read comments: as a message where it works on
// it, and else as another task of the same agent, which takes this one's work up.
func (p *Project) CommentTask(ctx context.Context, id string, c Comments) (*Commented, error) {
	text, err := c.compose()
	if err != nil {
		return nil, err
	}
	t, err := p.Tasks().Task(id)
	if err != nil {
		return nil, err
	}
	out := &Commented{How: CommentsTold, Text: text}
	if t.State.Active() {
		sent, err := p.Letters().Send(ctx, letters.Letter{To: t.Agent, Subject: "Comments on task " + id, Body: text})
		out.Sent, out.Note = &sent, sent.Note
		return out, err
	}
	if !t.State.Over() {
		return nil, hint.New(fmt.Errorf("nobody has begun task %s (%s)", id, t.Label), "cmux tasks show "+id)
	}
	body := text
	if tip := t.Tip(); tip != "" && !t.Merged.In() {
		body += fmt.Sprintf("\n\nThe work is on the branch %s. Your branch begins without it. Merge the work into it first:\n\n    git merge --no-edit %s", t.WorkBranch(), tip)
	}
	title := task.Titled(fmt.Sprintf("Comments on %s: %s", t.ID, t.Title))
	made, err := p.Tasks().Add(ctx, task.Fields{Title: &title, Body: &body, Priority: &t.Priority, Scope: &t.Scope, Verify: &t.Verify, Parent: &t.ID})
	if err != nil {
		return nil, err
	}
	out.How, out.Task = CommentsTask, &made
	if org, err := p.Org(); err == nil && org.Agents[t.Worker()] != nil && org.Agents[t.Worker()].Leaving == "" {
		assigned, err := p.Tasks().Assign(ctx, made.ID, t.Worker())
		if err != nil {
			out.Note, _ = hint.Explain(err) // it is there, and can be assigned to somebody else
			return out, nil
		}
		out.Task = &assigned
		return out, nil
	}
	out.Note = "it is assigned to nobody: who did the work is gone"
	return out, nil
}
