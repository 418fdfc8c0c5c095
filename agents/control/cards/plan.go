package cards

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cmux/agents/control/commands"
	"cmux/agents/control/configfile"
	"cmux/agents/org/card"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/platform/seal"
	"cmux/agents/room"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/dag/keys"
	"cmux/signals"
	"cmux/worktree/hint"
)

// PlanView is the plan of a room: the graph of its cards, as its file has it.
type PlanView struct {
	Room   string `json:"room"`
	File   string `json:"file"` // from the project's root
	There  bool   `json:"there"`
	Text   string `json:"text"`
	Sum    string `json:"sum"`    // names this text
	Edited bool   `json:"edited"` // by hand, since cmux made it
	Aside  string `json:"aside"`  // where what was edited is kept, of a plan that was just made again; empty: nothing was

	Session  string                   `json:"session"`
	Nodes    []commands.Planned       `json:"nodes"` // in graph order; none where there are faults
	Waves    []commands.Wave          `json:"waves"` // in which order they would start
	Cards    []PlanCard               `json:"cards"` // that the nodes are of
	Faults   []configfile.ConfigFault `json:"faults"`
	Warnings []configfile.ConfigFault `json:"warnings"`

	Left  []card.Left `json:"left"`  // cards that are not in it, and why
	Notes []card.Left `json:"notes"` // what should be known about those that are
	Run   *PlanRun    `json:"run"`   // the newest run of it; null: it was not started
}

// PlanCard is a card with its nodes.
type PlanCard struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Node   string `json:"node"`
	Review string `json:"review"` // empty: nobody reviews it in the run
	Label  string `json:"label"`
}

// PlanRun is a run of a plan.
type PlanRun struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	State   string `json:"state"`
	Over    bool   `json:"over"`
	Changed bool   `json:"changed"` // the plan says something else by now
}

// plansFolder holds the plans of rooms.
const plansFolder = "plans"

func (p *Cards) planPath(roomName string) string {
	return filepath.Join(run.Folder(p.Root), plansFolder, roomName+".yml")
}

// mark names texts that cmux makes as the plan of a room, with the person's key. Without one it
// has made none.
func (p *Cards) mark(roomName string) (card.Mark, error) {
	key, err := seal.Find()
	if errors.Is(err, fs.ErrNotExist) {
		return func(string) string { return "" }, nil
	} else if err != nil {
		return nil, err
	}
	place := "room-plan/" + p.Root + "/" + roomName
	return func(text string) string {
		sum := sha256.Sum256([]byte(text))
		sealed, err := key.Seal(place, []byte(`{"text":"`+hex.EncodeToString(sum[:])+`"}`))
		if err != nil { // of a key that is hidden: nothing is known to be cmux's
			return ""
		}
		sum = sha256.Sum256(sealed)
		return hex.EncodeToString(sum[:12])
	}, nil
}

// planSource is the file of a plan. It follows no link.
func (p *Cards) planSource(roomName string) configfile.Source {
	return configfile.Source{Path: p.planPath(roomName), Read: func(path string) ([]byte, error) { return signals.ReadFile(path, keys.MaxSource) }}
}

// Plan is the plan of a room as it is, which need not be there.
func (p *Cards) Plan(ctx context.Context, roomName string) (*PlanView, error) {
	if _, _, err := p.state(roomName); err != nil {
		return nil, err
	}
	file, err := p.Configurations.Text(p.planSource(roomName))
	if err != nil {
		return nil, err
	}
	would, tasks, err := p.would(roomName)
	if err != nil {
		return nil, err
	}
	mark, err := p.mark(roomName)
	if err != nil {
		return nil, err
	}
	v := &PlanView{
		Room: roomName, File: file.File, There: file.There, Text: file.Text, Sum: file.Sum, Edited: file.There && card.Edited(file.Text, mark),
		Nodes: []commands.Planned{}, Waves: []commands.Wave{}, Cards: []PlanCard{}, Faults: []configfile.ConfigFault{}, Warnings: []configfile.ConfigFault{},
		Left: append(append([]card.Left{}, would.Left...), would.Faults...), Notes: append([]card.Left{}, would.Notes...),
	}
	if r, err := p.planRun(roomName); err != nil {
		return nil, err
	} else if r != nil {
		if v.Run, err = p.runOf(ctx, r); err != nil {
			return nil, err
		}
	}
	if !v.There {
		return v, nil
	}
	if err := p.check(ctx, v, tasks); err != nil {
		return nil, err
	}
	v.Left = slices.DeleteFunc(v.Left, func(l card.Left) bool { // of a card that follows the run, the run tells
		t := tasks.Get(l.Card)
		return t != nil && t.Card != nil && t.Card.Node != "" && slices.ContainsFunc(v.Cards, func(c PlanCard) bool { return c.ID == l.Card })
	})
	for _, n := range would.Nodes {
		if len(v.Faults) == 0 && !n.Review && !slices.ContainsFunc(v.Cards, func(c PlanCard) bool { return c.ID == n.Card }) {
			v.Notes = append(v.Notes, card.Left{Card: n.Card, Why: "it has no node in the plan", Try: "cmux rooms plan " + roomName})
		}
	}
	return v, nil
}

// check says what the text of a plan is.
func (p *Cards) check(ctx context.Context, v *PlanView, l *task.List) error {
	g, warned, err := p.Configurations.Parse(ctx, p.planPath(v.Room), []byte(v.Text))
	for _, w := range warned {
		v.Warnings = append(v.Warnings, configfile.ConfigFault(w))
	}
	if v.Faults, err = configfile.Faults(err); err != nil || len(v.Faults) > 0 {
		return err
	}
	seats, err := card.Seats(g)
	if err != nil {
		v.Faults = append(v.Faults, configfile.ConfigFault{File: v.File, Line: 1, Column: 1, Message: err.Error()})
		return nil
	}
	v.Session = g.Session
	for _, i := range g.Order() {
		v.Nodes = append(v.Nodes, commands.PlannedAs(&g.Nodes[i], ""))
	}
	v.Waves = append(v.Waves, commands.Waves(g, nil)...)
	org := p.org()
	for _, t := range l.All() {
		if s, ok := seats[t.ID]; ok && t.Card != nil && t.Card.Room == v.Room {
			c := PlanCard{ID: t.ID, Title: t.Title, Node: g.Nodes[s.Work].Name, Label: view(l, t, org).Label}
			if s.Review >= 0 {
				c.Review = g.Nodes[s.Review].Name
			}
			v.Cards = append(v.Cards, c)
		}
	}
	return nil
}

// would is the plan that the cards of a room make now.
func (p *Cards) would(roomName string) (card.Plan, *task.List, error) {
	s, lines, err := p.state(roomName)
	if err != nil {
		return card.Plan{}, nil, err
	}
	l, err := p.TaskList()
	if err != nil {
		return card.Plan{}, nil, err
	}
	d := card.Deciding{
		Room: roomName, List: l, Verify: p.org().Settings.Verify,
		Maker:  func(name string) (card.Maker, bool) { return p.maker(s, name) },
		Facts:  func(t *task.Task) card.Facts { return p.facts(t, t, lines) },
		Agreed: func(t *task.Task) []string { return agreed(s, t) },
	}
	return card.Make(d), l, nil
}

// maker is what is made like a member of a room, also like one that has left.
func (p *Cards) maker(s *room.State, name string) (m card.Maker, ok bool) {
	for i := range s.Members {
		if one := &s.Members[i]; one.Name == name && !one.Guest {
			m, ok = card.Maker{Kind: one.Agent, Model: one.Model}, true
			if one.Role != "" {
				if b, err := signals.ReadFile(standing.RolePath(p.Root, one.Role), 1<<20); err == nil { // else it says nothing
					m.Role = string(b)
				}
			}
		}
	}
	return m, ok
}

// agreed are the decisions of a room that are about a card: one names the other, or the
// card's plan proposes it.
func agreed(s *room.State, t *task.Task) (all []string) {
	names := func(text, id string) bool {
		return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(id) + `\b`).MatchString(text)
	}
	for i := range s.Decisions {
		d := &s.Decisions[i]
		switch {
		case d.Decided == nil || d.Decided.What == string(room.Rejected):
		case names(d.Decided.Text, t.ID), names(t.Title+"\n"+t.Body, d.Label), d.From != 0 && (d.From == t.Card.Plan || d.From == t.Card.Brief):
			all = append(all, d.Label+": "+strings.TrimSpace(d.Decided.Text))
		}
	}
	return all
}

// MakePlan makes the plan of a room again, of its cards as they are. What a person has edited
// in the one before is kept aside.
func (p *Cards) MakePlan(ctx context.Context, roomName string) (*PlanView, error) {
	would, _, err := p.would(roomName)
	if err != nil {
		return nil, err
	}
	if r, err := p.planRun(roomName); err != nil {
		return nil, err
	} else if r != nil {
		switch now, err := p.runOf(ctx, r); {
		case err != nil:
			return nil, err
		case !now.Over && now.State != string(dag.RunStopped):
			return nil, hint.New(fmt.Errorf("run %s of the plan of %s has not ended: the plan stays as it is", r.Plan.ID, roomName), "cmux agents status --session "+r.Plan.Session)
		}
	}
	if len(would.Faults) > 0 {
		return nil, faulty(roomName, would.Faults)
	}
	if len(would.Nodes) == 0 {
		return nil, nothing(roomName, would.Left)
	}
	aside, err := p.writePlan(ctx, roomName, &would)
	if err != nil {
		return nil, err
	}
	v, err := p.Plan(ctx, roomName)
	if err == nil {
		v.Aside = aside
	}
	return v, err
}

// faulty says why there is no plan.
func faulty(roomName string, all []card.Left) error {
	return noPlan(fmt.Sprintf("the cards of %s make no plan:", roomName), roomName, all)
}

// nothing says that no card can be in a plan.
func nothing(roomName string, left []card.Left) error {
	if len(left) == 0 {
		return hint.New(fmt.Errorf("the room %s has no cards: there is nothing to plan", roomName), "cmux cards add "+roomName+" TITLE --implementer MEMBER")
	}
	return noPlan(fmt.Sprintf("no card of %s is decided and not started: there is nothing to plan", roomName), roomName, left)
}

// noPlan is text with what is the matter with each card, and the way out of the last of them.
func noPlan(text, roomName string, all []card.Left) error {
	try := "cmux cards list " + roomName
	for _, one := range all {
		text += fmt.Sprintf("\n  %s: %s", one.Card, one.Why)
		if one.Try != "" {
			try = one.Try
		}
	}
	return hint.New(errors.New(text), try)
}

// writePlan writes a plan. aside is the file in which what somebody edited is kept.
func (p *Cards) writePlan(ctx context.Context, roomName string, made *card.Plan) (aside string, err error) {
	src := p.planSource(roomName)
	if err := signals.MkdirAll(filepath.Dir(src.Path), 0o755); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(filepath.Dir(src.Path), p.Configurations.Schema())
	if err != nil {
		return "", err
	}
	if _, err := seal.Own(); err != nil {
		return "", err
	}
	mark, err := p.mark(roomName)
	if err != nil {
		return "", err
	}
	text := made.Text(filepath.ToSlash(rel), mark)
	was, err := p.Configurations.Text(src)
	if err != nil || was.Text == text {
		return "", err
	}
	if was.There && card.Edited(was.Text, mark) {
		if aside, err = p.putAside(ctx, roomName, was.Text); err != nil {
			return "", err
		}
	}
	_, err = p.Configurations.WriteText(ctx, src, text, was.Sum)
	if werr := signals.WriteFile(p.Configurations.Schema(), dag.Schema(), 0o644); werr != nil {
		p.Tell(fmt.Sprintf("the schema for editors was not written: %v", werr))
	}
	return aside, err
}

// CheckPlan says what a text would be as the plan of a room. Nothing is written.
func (p *Cards) CheckPlan(ctx context.Context, roomName, text string) (*PlanView, error) {
	v, err := p.Plan(ctx, roomName)
	if err != nil {
		return nil, err
	}
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	v.Text, v.Nodes, v.Waves, v.Cards, v.Faults, v.Warnings = text, []commands.Planned{}, []commands.Wave{}, []PlanCard{}, []configfile.ConfigFault{}, []configfile.ConfigFault{}
	return v, p.check(ctx, v, l)
}

// putAside keeps a text beside the plan of a room, under the first name that is free.
func (p *Cards) putAside(ctx context.Context, roomName, text string) (string, error) {
	for n := 1; ; n++ {
		src := p.planSource(fmt.Sprintf("%s.edited-%d", roomName, n))
		was, err := p.Configurations.Text(src)
		switch {
		case err != nil:
			return "", err
		case was.There && was.Text == text: // it was kept before a crash
			return was.File, nil
		case was.There:
			continue
		}
		file, err := p.Configurations.WriteText(ctx, src, text, was.Sum)
		if err != nil {
			return "", err
		}
		return file.File, nil
	}
}

// WritePlan writes a text as the plan of a room, in place of the one that sum names, also one
// with faults: a run refuses it.
func (p *Cards) WritePlan(ctx context.Context, roomName, text, sum string) (*PlanView, error) {
	if _, _, err := p.state(roomName); err != nil {
		return nil, err
	}
	if err := signals.MkdirAll(filepath.Dir(p.planPath(roomName)), 0o755); err != nil {
		return nil, err
	}
	if _, err := p.Configurations.WriteText(ctx, p.planSource(roomName), text, sum); err != nil {
		return nil, err
	}
	return p.Plan(ctx, roomName)
}

// planRun is the newest run of the plan of a room; nil: there is none.
func (p *Cards) planRun(roomName string) (*run.Run, error) {
	all, err := p.planRuns()
	return all[roomName], err
}

// planRuns are the newest runs of plans, by their rooms.
func (p *Cards) planRuns() (map[string]*run.Run, error) {
	all := map[string]*run.Run{}
	if _, err := signals.ReadDir(filepath.Dir(p.planPath("x"))); errors.Is(err, fs.ErrNotExist) {
		return all, nil // no room has a plan
	}
	owners, err := run.Owners(p.Root)
	if err != nil {
		return nil, err
	}
	for _, o := range owners { // the newest come last
		r, err := run.OpenPlan(run.Dir(p.Root, o.ID))
		if err != nil {
			continue // it was pruned, or cmux doctor says what is wrong with it
		}
		dir, file := filepath.Split(r.Plan.Config)
		if filepath.Clean(dir) != filepath.Dir(p.planPath("x")) || r.LoadGraph() != nil {
			continue
		}
		all[strings.TrimSuffix(file, ".yml")] = r
	}
	return all, nil
}

func (p *Cards) runOf(ctx context.Context, r *run.Run) (*PlanRun, error) {
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return nil, err
	}
	return &PlanRun{ID: r.Plan.ID, Session: r.Plan.Session, State: string(v.RunState), Over: v.RunState == dag.RunDone || v.RunState == dag.RunFailed, Changed: v.ConfigChanged}, nil
}

// Started is a plan that was started.
type Started struct {
	*PlanView
	Said string `json:"said"` // what the start said; empty: it ran already
}

// PlanRunnable checks that the plan of a room may be started, and shows it. under: a run of it
// has not ended, and is continued.
func (p *Cards) PlanRunnable(ctx context.Context, roomName string) (v *PlanView, under bool, err error) {
	v, err = p.Plan(ctx, roomName)
	if err != nil {
		return nil, false, err
	}
	if v.Run != nil && !v.Run.Over && (v.Run.State != string(dag.RunStopped) || !v.Run.Changed) {
		return v, true, nil
	}
	if !v.There {
		return nil, false, hint.New(fmt.Errorf("the room %s has no plan", roomName), "cmux rooms plan "+roomName)
	}
	if len(v.Faults) > 0 {
		f := v.Faults[0]
		return nil, false, hint.New(fmt.Errorf("the plan of %s cannot be started: %s:%d: %s", roomName, f.File, f.Line, f.Message), "edit "+v.File+", or cmux rooms plan "+roomName)
	}
	l, err := p.TaskList()
	if err != nil {
		return nil, false, err
	}
	for _, c := range v.Cards {
		t := l.Get(c.ID)
		if why, _ := card.Decided(t, l.Work(t)); why != "" {
			return nil, false, hint.New(fmt.Errorf("the plan of %s is of before: card %s: %s", roomName, c.ID, why), "cmux rooms plan "+roomName)
		}
	}
	if len(v.Cards) == 0 {
		return nil, false, hint.New(fmt.Errorf("no node of the plan of %s does the work of a card of the room", roomName), "cmux rooms plan "+roomName)
	}
	s, err := p.Commands.PlanStart(ctx, p.start(v))
	if err != nil {
		return nil, false, err
	}
	if u := s.Unfinished; u != nil && u.Plan.Config != p.planPath(roomName) {
		return nil, false, hint.New(fmt.Errorf("the session %s of the plan has the run %s of %s, which has not ended", v.Session, u.Plan.ID, p.Short(u.Plan.Config)), "name another session: in "+v.File)
	}
	return v, false, nil
}

// start is the order that starts a plan. A run of it that was stopped, and whose plan has
// changed since, is ended.
func (p *Cards) start(v *PlanView) commands.Start {
	return commands.Start{Config: p.planPath(v.Room), New: v.Run != nil && v.Run.Session == v.Session && !v.Run.Over && v.Run.State == string(dag.RunStopped) && v.Run.Changed}
}

// Run starts the plan of a room, or continues the run of it that has not ended, unless the
// plan has changed since that was stopped. Cards follow their nodes from then on. sum names the
// text that the person has seen, and nothing else is started; empty: whichever there is.
func (p *Cards) Run(ctx context.Context, roomName, sum string) (*Started, error) {
	v, under, err := p.PlanRunnable(ctx, roomName)
	if err != nil {
		return nil, err
	}
	if !under && sum != "" && sum != v.Sum {
		return nil, hint.New(fmt.Errorf("the plan of %s has changed since you looked at it: nothing was started", roomName), "cmux rooms plan "+roomName+" --show")
	}
	if err := p.Rooms.Up(ctx); err != nil {
		return nil, err
	}
	out := new(Started)
	r, err := p.planRun(roomName)
	if err != nil {
		return nil, err
	}
	if !under || !r.RunnerLives() {
		made, err := p.StartRun(ctx, p.start(v))
		if err != nil {
			return nil, err
		}
		out.Said = strings.TrimSpace(made.Said)
	}
	if err := p.Follow(ctx); err != nil {
		return nil, err
	}
	out.PlanView, err = p.Plan(ctx, roomName)
	return out, err
}
