package letters

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/records/mail"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree/hint"
)

// reaches says what becomes of a message otherwise than its sender asked, and
// refuses one to a node that nobody will hand it to.
func (p *Letters) reaches(ctx context.Context, to mailbox.Address, u mailbox.Urgency) (note string, err error) {
	if to.Kind == mailbox.Node {
		return p.reachesNode(ctx, to.Name, u)
	}
	if to.Kind != mailbox.Agent || u == mailbox.Patient {
		return "", nil
	}
	org, err := standing.Open(p.Root)
	if errors.Is(err, run.ErrNoOrganization) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	a := org.Agents[to.In(org.Run.Plan.Session).Name]
	if a == nil {
		return "", nil
	}
	return p.unhurried(a.Name, a.Member.Kind, u), nil
}

// reachesNode is reaches for a node of a run.
func (p *Letters) reachesNode(ctx context.Context, name string, u mailbox.Urgency) (note string, err error) {
	v, i, err := p.viewOfNode(ctx, name)
	if err != nil {
		return "", err
	}
	n := v.Nodes[i].Spec
	label := v.Nodes[i].Status.Label
	switch {
	case !n.UsesModel() || !p.Kinds[n.Agent].Judge:
		return "", project.Usage("cmux agents status", "%s has no agent that could read a message", name)
	case label.Result() != "":
		return "", hint.New(fmt.Errorf("%s is over (%s), so nobody would read it", name, label), "cmux agents retry "+name)
	case v.Holder == nil:
		return "it waits until the run is resumed: no runner is there to hand it over", nil
	}
	return p.unhurried(name, n.Agent, u), nil
}

// viewOfNode is the run that has a node of this name, and the node's place in it.
func (p *Letters) viewOfNode(ctx context.Context, name string) (*run.View, int, error) {
	owners, err := run.Owners(p.Root)
	if err != nil {
		return nil, 0, err
	}
	for _, o := range owners {
		if !o.Owns(name) {
			continue
		}
		r, err := run.Open(p.Root, o.ID)
		if err != nil || r.Plan.Graph.Index(name) < 0 {
			continue // cmux agents status says what is wrong with it
		}
		v, err := r.View(ctx, p.Now())
		if err != nil {
			return nil, 0, err
		}
		if i := v.Run.Plan.Graph.Index(name); i >= 0 {
			return v, i, nil
		}
	}
	return nil, 0, project.Usage("cmux agents status", "no run has a node %q", name)
}

// unhurried says that a message reaches a kind of agent later than it was to;
// empty: it does not.
func (p *Letters) unhurried(name, kind string, u mailbox.Urgency) string {
	can := p.Kinds[kind].Can
	switch {
	case u == mailbox.Interrupt && can.Interrupt == "":
		return fmt.Sprintf("the turn of %s cannot be broken off (%s): it gets the message at the end of its turn", name, kind)
	case u == mailbox.Urgent && can.Urgent == "":
		return fmt.Sprintf("%s takes no message within a turn (%s): it gets it at the end of its turn", name, kind)
	}
	return ""
}

// enclosures are the files that go along with a message.
func enclosures(paths []string) (all []mail.Enclosure, err error) {
	if len(paths) > mail.MaxFiles {
		return nil, project.Usage("cmux mailbox send --help", "%d files are too many for a message, which takes %d", len(paths), mail.MaxFiles)
	}
	for _, path := range paths {
		b, err := signals.ReadFile(path, mail.MaxFile)
		if err != nil {
			return nil, fmt.Errorf("it cannot be attached: %w", err)
		}
		all = append(all, mail.Enclosure{Name: filepath.Base(path), Data: b})
	}
	if err := mail.CheckFiles(all); err != nil {
		return nil, project.Usage("cmux mailbox send --help", "%w", err)
	}
	return all, nil
}

// SayDoing tells whoever looks what the calling agent does. From a node or a person,
// of whom no list shows it, it goes to the supervisor as a message.
func (p *Letters) SayDoing(ctx context.Context, text string) (Sent, error) {
	text = strings.TrimSpace(text)
	if most := mailbox.MaxSubject - 20; text == "" || len(text) > most {
		return Sent{}, project.Usage("cmux mailbox status --help", "that has %d bytes: what is shown in a line has 1 to %d", len(text), most)
	}
	from, inside, err := p.Sender()
	if err != nil {
		return Sent{}, err
	}
	if from.Kind != mailbox.Agent || !inside {
		return p.Send(ctx, Letter{To: mailbox.Supervisor, Subject: mailbox.StatusOf.Subject(text)})
	}
	id, err := wrapper.Post(ctx, p.Getenv, mailbox.Message{Type: mailbox.StatusUpdate, Subject: text})
	return Sent{ID: id, From: from.String(), Verified: true}, err
}
