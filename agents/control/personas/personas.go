// Package personas shows the role files of a project to a person, who edits them: what an agent
// with a role is told, and of which kind and model it is. Package persona says what stands in
// such a file. Of two persons who write at once, the second gets an error.
package personas

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/control/rooms"
	"cmux/agents/org/persona"
	"cmux/agents/org/standing"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// mostRole and mostModel bound a role file and the name of a model, in bytes.
const (
	mostRole  = 256 << 10
	mostModel = 100
)

// Persona is a role file: what an agent with that role is told, and of which kind and model it
// is unless somebody says otherwise.
type Persona struct {
	Name  string   `json:"name"`
	File  string   `json:"file"`  // from the project's root
	Kind  string   `json:"kind"`  // empty: any
	Model string   `json:"model"` // empty: the kind's own choice
	Text  string   `json:"text"`
	Sum   string   `json:"sum"`   // names what the file says
	Used  []string `json:"used"`  // agents that have the role: ROOM.NAME is a member of a room
	Own   bool     `json:"own"`   // cmux's own, which it writes again at the next start
	Fault string   `json:"fault"` // why the file cannot be read; empty: it can
}

// Personas are the role files of a project.
type Personas struct{ *rooms.Rooms }

// List is the role files, by name.
func (p *Personas) List() ([]Persona, error) {
	entries, err := signals.ReadDir(filepath.Dir(standing.RolePath(p.Root, "x")))
	if errors.Is(err, fs.ErrNotExist) {
		return []Persona{}, nil
	}
	if err != nil {
		return nil, err
	}
	used, err := p.used()
	if err != nil {
		return nil, err
	}
	all := []Persona{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if !ok || book.CheckName(name) != nil || !e.Type().IsRegular() {
			continue
		}
		one, _, err := p.read(name, used)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			one.Fault = err.Error()
		}
		all = append(all, one)
	}
	return all, nil
}

// Get is one of them.
func (p *Personas) Get(name string) (*Persona, error) {
	if err := book.CheckName(name); err != nil {
		return nil, project.Tag(err, project.ErrUsage)
	}
	used, err := p.used()
	if err != nil {
		return nil, err
	}
	one, _, err := p.read(name, used)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.none(name)
	}
	return &one, err
}

func (p *Personas) none(name string) error {
	return project.Tag(fmt.Errorf("there is no role %q: %s is not there", name, p.Short(standing.RolePath(p.Root, name))), project.ErrMissing)
}

func (p *Personas) read(name string, used map[string][]string) (Persona, persona.Persona, error) {
	path := standing.RolePath(p.Root, name)
	one := Persona{Name: name, File: p.Short(path), Used: append([]string{}, used[name]...), Own: slices.Contains(standing.Roles(), name)}
	b, err := signals.ReadFile(path, mostRole)
	if err != nil {
		return one, persona.Persona{}, err
	}
	said := persona.Parse(string(b))
	one.Kind, one.Model, one.Text, one.Sum = said.Kind, said.Model, said.Text, run.Sum(b)
	return one, said, nil
}

// used are the agents that have a role, by the role: those of the organization, and the members
// of rooms that are open.
func (p *Personas) used() (map[string][]string, error) {
	org, err := standing.Open(p.Root)
	if err != nil && !errors.Is(err, run.ErrNoOrganization) {
		return nil, err
	}
	all := map[string][]string{}
	add := func(role, agent string) {
		if !slices.Contains(all[role], agent) {
			all[role] = append(all[role], agent)
		}
	}
	if err == nil {
		dir := filepath.Dir(standing.RolePath(p.Root, "x"))
		for name, a := range org.Agents {
			if file := a.Member.RoleFile; filepath.Dir(file) == dir && !a.InRoom() {
				add(strings.TrimSuffix(filepath.Base(file), ".md"), name)
			}
		}
	}
	open, err := p.Rooms.List()
	if err != nil {
		return nil, err
	}
	for _, v := range open {
		for _, m := range v.Members {
			if m.Role != "" && !m.Guest && v.Room.Phase != room.IsClosed {
				add(m.Role, m.Agent)
			}
		}
	}
	for role := range all {
		slices.Sort(all[role])
	}
	return all, nil
}

// Saving is what a person makes of a role file.
type Saving struct {
	Kind  string `json:"kind,omitempty" maxLength:"100" doc:"Kind of agent; empty: any"`
	Model string `json:"model,omitempty" maxLength:"100" doc:"Model; empty: the kind's own choice"`
	Text  string `json:"text" minLength:"1" maxLength:"200000" doc:"What an agent with the role is told"`
	Sum   string `json:"sum,omitempty" maxLength:"100" doc:"Checksum of the file that was edited: nothing is written if it has changed since; empty: there must be none"`
}

// Save writes a role file, in place of the one that s.Sum names. It is a person's.
func (p *Personas) Save(ctx context.Context, name string, s Saving) (*Persona, error) {
	if err := p.check(name, &s); err != nil {
		return nil, err
	}
	err := p.held(ctx, name, s.Sum, func(was persona.Persona) error {
		path := standing.RolePath(p.Root, name)
		if err := signals.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return signals.WriteFile(path, []byte(was.With(s.Kind, s.Model, s.Text).File()), 0o644)
	})
	if err != nil {
		return nil, err
	}
	p.audit(ctx, "write", name)
	return p.Get(name)
}

func (p *Personas) check(name string, s *Saving) error {
	if err := book.CheckName(name); err != nil {
		return project.Tag(err, project.ErrUsage)
	}
	s.Kind, s.Model = strings.TrimSpace(s.Kind), strings.TrimSpace(s.Model)
	if k, ok := p.Kinds[s.Kind]; s.Kind != "" && (!ok || !k.Judge) {
		return project.Usage("", "there is no kind of agent %q", s.Kind)
	}
	if len(s.Model) > mostModel || strings.ContainsFunc(s.Model, unicode.IsControl) {
		return project.Usage("", "%q is no name of a model", s.Model)
	}
	if strings.TrimSpace(s.Text) == "" {
		return project.Usage("", "the role %s has no text: say what an agent with it does", name)
	}
	if len(s.Text) > mostRole/2 || !utf8.ValidString(s.Text) || strings.ContainsRune(s.Text, 0) {
		return project.Usage("", "the role %s must be text of at most %d KB", name, mostRole/2048)
	}
	return nil
}

// Remove removes a role file that nobody uses, if it still says what sum names. It is a
// person's.
func (p *Personas) Remove(ctx context.Context, name, sum string) error {
	one, err := p.Get(name)
	if err != nil {
		return err
	}
	if one.Own {
		return fmt.Errorf("the role %s is cmux's own, which it writes again: nothing was removed", name)
	}
	if len(one.Used) > 0 {
		return fmt.Errorf("the role %s is used by %s: nothing was removed; dismiss or remove them first", name, strings.Join(one.Used, ", "))
	}
	if err := p.held(ctx, name, sum, func(persona.Persona) error { return signals.RemoveFile(standing.RolePath(p.Root, name)) }); err != nil {
		return err
	}
	p.audit(ctx, "remove", name)
	return nil
}

// held calls f with a role file as it is, which nobody else changes meanwhile, if it says what
// sum names.
func (p *Personas) held(ctx context.Context, name, sum string, f func(persona.Persona) error) error {
	if err := signals.Init(p.Root); err != nil {
		return err
	}
	release, err := signals.Hold(ctx, run.Folder(p.Root))
	if err != nil {
		return err
	}
	defer release()
	is, was, err := p.read(name, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist) && sum != "":
		return fmt.Errorf("%s was removed since it was read: nothing was written", is.File)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case is.Sum != sum && sum == "":
		return fmt.Errorf("there is a role %s already: nothing was written; edit that one, or choose another name", name)
	case is.Sum != sum:
		return fmt.Errorf("%s has changed since it was read: nothing was written", is.File)
	}
	return f(was)
}

func (p *Personas) audit(ctx context.Context, do, name string) {
	p.Records.Audit(ctx, records.Ordered{Order: "personas " + do, About: name, By: room.User, How: "command"}) // what is missing is nothing that an order should fail by
}
