package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"cmux/agents/platform/seal"
	"cmux/dag"
	"cmux/signals"
)

// OrganizationID is the name of the organization's folder, `.cmux/agents`. It has
// the shape of a run's folder, so that a standing agent is carried by the same
// wrapper as a node: a folder per agent with its lock, socket, spec and events,
// the frozen environment, and a plan without a graph. It never ends, and no
// runner has it.
const OrganizationID = "agents"

// OrganizationDir is the folder of the organization of the project at root.
func OrganizationDir(root string) string { return filepath.Join(Folder(root), OrganizationID) }

// MarkOf names the organization of the project at root among all of the machine:
// processes of its agents are marked with it (proc.Attempt).
func MarkOf(root string) string {
	sum := sha256.Sum256([]byte(root))
	return OrganizationID + "-" + hex.EncodeToString(sum[:6])
}

// Mark is what the processes of r's attempts are marked with (proc.Attempt).
func (r *Run) Mark() string {
	if r.IsOrganization() {
		return MarkOf(r.Plan.Root)
	}
	return r.Plan.ID
}

// IsOrganization reports whether r is the folder of standing agents.
func (r *Run) IsOrganization() bool { return r.Plan.ID == OrganizationID }

// CreateOrganization makes the folder of the organization of the project at
// root, with the environment that its agents get. session is the one of tmux in
// which they live, socket names its server. Where there is one already, its
// environment, program, session and socket are replaced and its agents stay.
func CreateOrganization(root, session, socket string, env []string, binary string) (*Run, error) {
	p := Plan{Version: 1, ID: OrganizationID, Root: root, Session: session, Socket: socket, CreatedAt: time.Now()}
	r := &Run{Paths: Paths{Dir: OrganizationDir(root)}, Plan: p}
	own, err := seal.Own()
	if err != nil {
		return nil, err
	}
	r.key = keyOf(own, &p)
	if err := signals.MkdirAll(r.Requests(), 0o700); err != nil {
		return nil, err
	}
	if err := r.WriteEnv(env); err != nil {
		return nil, err
	}
	if err := r.keepProgram(own, binary); err != nil {
		return nil, fmt.Errorf("copying cmux into %s: %w", programsDir(root), err)
	}
	return r, r.writePlan()
}

// ErrNoOrganization says that the project has no standing agents.
var ErrNoOrganization = errors.New("no organization in this project")

// OpenOrganization opens the folder of the project's standing agents, or says
// ErrNoOrganization.
func OpenOrganization(root string) (*Run, error) {
	r, err := OpenPlan(OrganizationDir(root))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoOrganization
	}
	return r, err
}

// Member is what a standing agent was made as. It is the first record of the
// agent, and of later ones the newest counts.
type Member struct {
	ID         string    `json:"agent_id"` // ag_ and 8 letters or digits
	Name       string    `json:"name"`
	Display    string    `json:"display_name,omitempty"`
	Role       string    `json:"role"` // supervisor, project-supervisor, worker, permanent-worker, clone, sentry, member
	Kind       string    `json:"kind"` // of its program, as in `agent:`
	Model      string    `json:"model,omitempty"`
	Account    string    `json:"account,omitempty"`
	Project    string    `json:"project_id,omitempty"`
	Supervisor string    `json:"supervisor,omitempty"` // whom it reports to
	Session    string    `json:"session,omitempty"`    // of tmux, that its window is in; empty: the organization's
	Dir        string    `json:"dir"`                  // where it works, absolute
	Tree       string    `json:"worktree,omitempty"`   // its own worktree; empty: it shares Dir
	Branch     string    `json:"branch,omitempty"`     // of the worktree between tasks
	Permanent  bool      `json:"permanent,omitempty"`
	Team       string    `json:"team,omitempty"`         // that it was made for
	TeamLead   bool      `json:"team_lead,omitempty"`    // it may give tasks to the team
	RoleFile   string    `json:"role_context,omitempty"` // what it is, in a file that a person may edit
	Context    string    `json:"context,omitempty"`      // file that it reads first
	CloneOf    string    `json:"clone_of,omitempty"`
	CloneIndex int       `json:"clone_index,omitempty"`
	CloneFrom  string    `json:"clone_branch,omitempty"` // branch of the other that its own began at, and goes back to
	CloneTask  string    `json:"clone_task,omitempty"`   // that the other was at then
	Once       bool      `json:"once,omitempty"`         // it is removed when its work is done
	AutoAccept bool      `json:"auto_accept,omitempty"`
	Automatic  bool      `json:"automatic,omitempty"` // its program decides itself what is safe
	Headless   bool      `json:"headless,omitempty"`  // without a pane
	CreatedAt  time.Time `json:"created_at"`
}

// NeedsSeat reports whether the agent holds one of the person's places for agents
// (max_agents) while it works: whoever only leads needs none.
func (m *Member) NeedsSeat() bool {
	return m.Role == "worker" || m.Role == "permanent-worker" || m.Role == "clone"
}

// Work is a piece of work that a standing agent is given. It is judged as a
// node's is, by Def and Place.
type Work struct {
	ID      string    `json:"id"`           // of the task
	Attempt int       `json:"attempt"`      // of the task, from 1
	By      string    `json:"by,omitempty"` // whom its questions go to: who ordered it
	Def     *dag.Node `json:"def"`          // what it is judged by: role, scope, context, verify, budget
	Place   Place     `json:"place"`        // its worktree, branch and start commit
	Used    dag.Usage `json:"used,omitzero"`
	Checks  []string  `json:"checks,omitempty"` // as Spec has them, as of now
	Past    *Past     `json:"past,omitempty"`   // earlier attempts at the task, for the agent's prompt; nil: none
	Before  string    `json:"before,omitempty"` // how far earlier attempts came, for the agent's prompt; empty: this is the first
}

// AgentRecords is the file with the records of a standing agent.
func (r *Run) AgentRecords(name string) string { return filepath.Join(r.NodeDir(name), recordsFile) }
