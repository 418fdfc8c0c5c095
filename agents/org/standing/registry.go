package standing

import (
	"bytes"
	"encoding/json"
	"time"

	"cmux/signals"
)

// Entry is an agent in the registry, `.cmux/agent_registry.json`, for programs
// that look for it there. cmux derives the registry and rewrites it when it differs.
type Entry struct {
	ID         string     `json:"agent_id"`
	Display    string     `json:"display_name,omitempty"`
	Role       string     `json:"role"`
	Project    string     `json:"project_id,omitempty"`
	Supervisor string     `json:"supervisor,omitempty"`
	Session    string     `json:"session,omitempty"`
	Kind       string     `json:"kind"`
	Model      string     `json:"model,omitempty"`
	Dir        string     `json:"dir"`
	Worktree   string     `json:"worktree,omitempty"`
	Branch     string     `json:"branch,omitempty"`
	Permanent  bool       `json:"permanent"`
	Team       string     `json:"team,omitempty"`
	RoleFile   string     `json:"role_context,omitempty"`
	Tasks      int        `json:"tasks_since_reset"`
	Resets     int        `json:"reset_count"`
	ResetAt    *time.Time `json:"last_reset_at,omitempty"`
	Compacted  int        `json:"compaction_count"`
	CloneOf    string     `json:"clone_of,omitempty"`
	CloneIndex int        `json:"clone_index,omitempty"`
	CloneFrom  string     `json:"clone_branch,omitempty"`
	CreatedAt  time.Time  `json:"created_at"`
}

// Registry is what the registry says, by name.
func (o *Org) Registry() map[string]Entry {
	all := make(map[string]Entry, len(o.Agents))
	for name, a := range o.Agents {
		m := &a.Member
		e := Entry{
			ID: m.ID, Display: m.Display, Role: m.Role, Project: m.Project, Supervisor: m.Supervisor, Session: m.Session, Kind: m.Kind, Model: m.Model,
			Dir: m.Dir, Worktree: m.Tree, Branch: m.Branch, Permanent: m.Permanent, Team: m.Team, RoleFile: m.RoleFile,
			Tasks: a.Tasks, Resets: a.Resets, Compacted: a.Compactions, CloneOf: m.CloneOf, CloneIndex: m.CloneIndex, CloneFrom: m.CloneFrom, CreatedAt: m.CreatedAt,
		}
		if !a.ResetAt.IsZero() {
			e.ResetAt = &a.ResetAt
		}
		all[name] = e
	}
	return all
}

// registryFile is the registry's name in .cmux.
const registryFile = "agent_registry.json"

// WriteRegistry replaces the registry where it does not say what is so.
func (o *Org) WriteRegistry() error {
	b, err := json.MarshalIndent(o.Registry(), "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	path := o.folder(registryFile)
	if was, err := signals.ReadFile(path, signals.MaxFile); err == nil && bytes.Equal(was, b) {
		return nil
	}
	return signals.WriteFile(path, b, 0o600)
}
