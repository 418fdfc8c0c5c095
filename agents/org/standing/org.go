package standing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/org/team"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// Org is a project's organization as it is on disk: its agents, each the fold of
// its records, and what was asked for. Look takes in what is new. It belongs to
// one goroutine.
type Org struct {
	Run *run.Run

	Agents   map[string]*Agent
	Stopped  bool // as a whole, until a person starts it again
	Settings Settings
	Answers  map[string]Answer // of requests, by id
	Broken   map[string]error  // agents whose records cannot be read, and why

	projects map[string]Project
	left     leftovers
	offset   int64 // in the organization's own records
}

// Agent is one agent of an Org.
type Agent struct {
	State
	Name string

	offset int64
	file   os.FileInfo // of its records, as last seen
}

// Settings are what a person decided at the start for all agents. An agent can
// write the file that they come from, so they count as they were taken in then.
type Settings struct {
	Permissions  string `json:"permissions"`
	Integration  string `json:"integration"`
	MaxStanding  int    `json:"max_standing"`
	WorktreeBase string `json:"worktree_base"`
	Port         int    `json:"port,omitempty"` // of the server; 0: the first that is free
	Agent        string `json:"agent"`          // the default kind of a worker
	Model        string `json:"model,omitempty"`

	Zones   run.Zones `json:"zones,omitzero"`
	Fence   dag.Fence `json:"fence,omitzero"` // around the agents, where a person's own settings do not want more
	Budgets Budgets   `json:"budgets,omitzero"`

	Notify      dag.Notify      `json:"notify,omitzero"`
	Teams       []team.Template `json:"teams,omitempty"`       // beside those that every project has
	Maintenance []string        `json:"maintenance,omitempty"` // kinds of things that cmux may remove by itself
	Voice       bool            `json:"voice,omitempty"`       // alerts are spoken
	Verify      []string        `json:"verify,omitempty"`      // checks after each merge
	Overflow    string          `json:"overflow,omitempty"`    // what becomes of a task for a permanent worker that is busy
	Health      Health          `json:"health,omitzero"`

	Watch  map[string]string `json:"watch,omitempty"`  // what a person set of package watchconfig, by key
	Rooms  map[string]string `json:"rooms,omitempty"`  // likewise of package roomconfig
	Memory map[string]string `json:"memory,omitempty"` // likewise of package memoryconfig
}

// Answer is what a request came to.
type Answer struct {
	Refused string          `json:"refused,omitempty"`
	Made    json.RawMessage `json:"made,omitempty"`
}

// keySettings is the key of the Noted record with the settings.
const keySettings = "settings"

// Open opens the organization of the project at root and looks at it, or says
// run.ErrNoOrganization.
func Open(root string) (*Org, error) {
	r, err := run.OpenOrganization(root)
	if err != nil {
		return nil, err
	}
	o := &Org{Run: r, Agents: make(map[string]*Agent), Answers: make(map[string]Answer), Broken: make(map[string]error)}
	return o, o.Look()
}

// Root is the root of the project.
func (o *Org) Root() string { return o.Run.Plan.Root }

// WayTo is what a person calls next for an agent that does not run.
func (o *Org) WayTo(name string) string {
	if o.Stopped {
		return "cmux start"
	}
	return "cmux workers status " + name
}

// Names are the names of the agents: the supervisor first, then by age.
func (o *Org) Names() []string {
	var names []string
	for name := range o.Agents {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := o.Agents[a], o.Agents[b]
		switch {
		case a == Supervisor:
			return -1
		case b == Supervisor:
			return 1
		}
		if c := x.Born.Compare(y.Born); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return names
}

// Look takes in what is new: agents that came or went, and records.
func (o *Org) Look() error {
	if err := o.lookAtOwn(); err != nil {
		return err
	}
	entries, err := signals.ReadDir(o.Run.Dir)
	if err != nil {
		return err
	}
	there := make(map[string]bool)
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || !namePattern().MatchString(name) || slices.Contains(folders, name) {
			continue
		}
		a := o.Agents[name]
		if a == nil {
			a = &Agent{Name: name}
		}
		if err := o.lookAt(a); err != nil { // the others are no worse for it
			o.Broken[name] = err
		} else {
			delete(o.Broken, name)
		}
		if a.Born.IsZero() || a.Member.Name != name {
			continue // being made, or nothing of cmux's
		}
		there[name] = true
		o.Agents[name] = a
	}
	for name := range o.Agents {
		if !there[name] {
			delete(o.Agents, name)
		}
	}
	return nil
}

// lookAt takes in the new records of an agent. Another file is another agent's,
// which has the name now.
func (o *Org) lookAt(a *Agent) error {
	info, err := os.Lstat(o.Run.AgentRecords(a.Name))
	if errors.Is(err, fs.ErrNotExist) {
		*a = Agent{Name: a.Name}
		return nil
	}
	if err != nil {
		return err
	}
	if a.file != nil && (!os.SameFile(a.file, info) || info.Size() < a.offset) {
		*a = Agent{Name: a.Name}
	}
	if a.file = info; info.Size() == a.offset {
		return nil
	}
	a.offset, err = o.Run.EachAgentRecord(a.Name, a.offset, a.Apply)
	if errors.Is(err, fs.ErrNotExist) { // it was moved to the archives this moment
		*a = Agent{Name: a.Name}
		return nil
	}
	return err
}

// lookAtOwn takes in the new records of the organization itself.
func (o *Org) lookAtOwn() error {
	next, err := o.Run.EachRecordFrom(o.offset, func(rec *run.Record) {
		switch {
		case rec.Type == run.Stopped:
			o.Stopped = true
		case rec.Type == run.Resumed:
			o.Stopped = false
		case rec.Type == run.Requested:
			o.Answers[rec.Request] = Answer{Refused: rec.Detail, Made: json.RawMessage(rec.Value)}
		case rec.Type == run.Noted && rec.Key == keyProject:
			o.projectNoted(rec.Value)
		case rec.Type == run.Noted && rec.Key == keyLeft:
			o.left.takes(rec)
		case rec.Type == run.Noted && rec.Key == keySettings:
			var s Settings
			if json.Unmarshal([]byte(rec.Value), &s) == nil {
				o.Settings = s
			}
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	o.offset = next
	return err
}

// Record appends to the organization's own records.
func (o *Org) Record(ctx context.Context, recs ...run.Record) error {
	book, err := o.Run.OpenBook()
	if err != nil {
		return err
	}
	return errors.Join(book.Durable(ctx, recs...), book.Close())
}

// RecordOf appends to the records of an agent.
func (o *Org) RecordOf(ctx context.Context, name string, recs ...run.Record) error {
	book, err := o.Run.OpenAgentBook(name)
	if err != nil {
		return err
	}
	for i := range recs {
		recs[i].Node = name
	}
	return errors.Join(book.Durable(ctx, recs...), book.Close())
}

// Set records the settings that a person decided on.
func (o *Org) Set(ctx context.Context, s Settings) error {
	if reflect.DeepEqual(s, o.Settings) {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := o.Record(ctx, run.Record{Type: run.Noted, Key: keySettings, Value: string(b)}); err != nil {
		return err
	}
	return o.lookAtOwn()
}

// Join makes an agent: from the record on it is there, and the Keeper starts it.
// A record of an agent that is there changes what it was made as.
func (o *Org) Join(ctx context.Context, m run.Member, request string) error {
	return o.RecordOf(ctx, m.Name, run.Record{Type: run.Joined, Member: &m, Request: request})
}

// Taken reports whether an agent has an id.
func (o *Org) Taken(id string) bool {
	for _, a := range o.Agents {
		if a.Member.ID == id {
			return true
		}
	}
	return false
}

// Find is the agent of a name, or one whose display name or id it is.
func (o *Org) Find(name string) (*Agent, error) {
	if a := o.Agents[name]; a != nil {
		return a, nil
	}
	for _, n := range o.Names() {
		a := o.Agents[n]
		if a.Member.ID == name || strings.EqualFold(n, name) || a.Member.Display != "" && strings.EqualFold(a.Member.Display, name) {
			return a, nil
		}
	}
	return nil, &UnknownError{name, o.Names()}
}

// UnknownError says that there is no agent of a name.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no agent %q: this organization has none", e.Name)
	}
	return fmt.Sprintf("there is no agent %q: there are %s", e.Name, strings.Join(e.Known, ", "))
}

// CheckNew says whether a new agent of a role can have a name here.
func (o *Org) CheckNew(name, role string) error {
	if err := CheckName(name, role); err != nil {
		return err
	}
	for n, a := range o.Agents {
		if strings.EqualFold(n, name) || a.Member.Display != "" && strings.EqualFold(a.Member.Display, name) {
			return fmt.Errorf("%w: %q: %s has it", ErrName, name, n)
		}
	}
	return nil
}

// folder is a folder of the organization outside its own, in .cmux.
func (o *Org) folder(name string) string { return filepath.Join(run.Folder(o.Root()), name) }

// Accounts are the accounts that agents have in the frozen environment, of those
// whose conversation is another account's. One that a person named stays.
func (o *Org) Accounts(kinds agent.Kinds) map[string]string {
	other := make(map[string]string)
	env, err := o.Run.Env()
	if err != nil {
		return other // nothing can be started
	}
	for name, a := range o.Agents {
		kind, ok := kinds[a.Member.Kind]
		if !ok {
			continue
		}
		has := a.Member.Account
		if named := has != kind.Name && !strings.HasPrefix(has, kind.Name+" /"); named {
			continue
		}
		if is := kind.Account("", nil, env); is != has {
			other[name] = is
		}
	}
	return other
}

// Hold keeps an agent from being started until a person resets it, which begins
// a new conversation, or wakes it all the same.
func (o *Org) Hold(ctx context.Context, name, why string) error {
	return o.RecordOf(ctx, name, run.Record{Type: run.Noted, Key: keyHeld, Detail: why})
}
