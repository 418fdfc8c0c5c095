package standing

import (
	"encoding/json"
	"fmt"

	"cmux/agents/records/alert"
	"cmux/agents/room"
	"cmux/agents/runs/run"
)

// What can be asked of the Keeper, beside run.OpStop without a name, which stops
// the organization.
const (
	OpSpawn  run.Op = "spawn"
	OpKill   run.Op = "kill"
	OpReset  run.Op = "reset"
	OpDemote run.Op = "demote" // a permanent worker becomes an ordinary one
	OpRun    run.Op = "run"    // start a run
	OpAlert  run.Op = "alert"  // call for the person
	OpRoom   run.Op = "room"   // open a room
	OpWake   run.Op = "wake"   // start an agent again that died too often, or that was stopped
	// OpRelaunch ends an agent's program and starts it again, in its conversation.
	OpRelaunch run.Op = "relaunch"
	// OpCompact has an agent's program compact its conversation, once: now, or not at
	// all.
	OpCompact run.Op = "compact"
)

// Ask is what a request asks for in more words than run.Request has.
type Ask struct {
	By    string `json:"by"`              // who asks: an agent's name; empty: a person
	Force bool   `json:"force,omitempty"` // OpKill: also a permanent worker
	Spawn *Spawn `json:"spawn,omitempty"`

	Run   *RunOrder    `json:"run,omitempty"`
	Alert *alert.Alert `json:"alert,omitempty"`
	Room  *RoomOrder   `json:"room,omitempty"`
}

// RoomOrder is a room that a supervisor wants to open.
type RoomOrder struct {
	Name     string        `json:"name"`
	Settings room.Settings `json:"settings"`
	Members  []room.Line   `json:"members"`
}

// RunOrder says which run is to be started.
type RunOrder struct {
	Config    string `json:"config,omitempty"` // absolute; empty: the project's own
	Base      string `json:"base,omitempty"`
	New       bool   `json:"new,omitempty"`
	Fresh     bool   `json:"fresh,omitempty"`
	IfChanged bool   `json:"if_changed,omitempty"`
}

// RunMade is the answer to OpRun.
type RunMade struct {
	Run     string `json:"run"` // its id; empty: there was nothing to start
	Session string `json:"session"`
	Said    string `json:"said"` // by cmux agents start
}

// Spawn says which agent is to be made.
type Spawn struct {
	Name       string `json:"name"`
	Display    string `json:"display_name,omitempty"`
	Role       string `json:"role"`
	Kind       string `json:"kind,omitempty"` // empty: that of Settings
	Model      string `json:"model,omitempty"`
	Account    string `json:"account,omitempty"`
	Project    string `json:"project_id,omitempty"`
	Supervisor string `json:"supervisor,omitempty"` // whom it reports to
	Session    string `json:"session,omitempty"`    // of tmux, that its window is in; empty: that of whom it reports to
	Dir        string `json:"dir,omitempty"`        // it works here, with whoever else does; empty: in a worktree of its own
	Branch     string `json:"branch,omitempty"`     // of its worktree; empty: SESSION/NAME
	Permanent  bool   `json:"permanent,omitempty"`
	RoleFile   string `json:"role_context,omitempty"`
	Team       string `json:"team,omitempty"`
	TeamLead   bool   `json:"team_lead,omitempty"`
	Once       bool   `json:"once,omitempty"`     // it is removed when its work is done
	CloneOf    string `json:"clone_of,omitempty"` // it is made as this one is, and its branch begins where that one's is
}

// Made is the answer to a Spawn.
type Made struct {
	Name   string `json:"name"`
	ID     string `json:"agent_id"`
	Dir    string `json:"dir"`
	Branch string `json:"branch,omitempty"`
}

// Gone is the answer to OpKill.
type Gone struct {
	Name    string `json:"name"`
	Archive string `json:"archive"`           // where its records, log and last screen are
	Branch  string `json:"branch,omitempty"`  // that its work is on
	Restore string `json:"restore,omitempty"` // brings what it had not committed back; empty: there was nothing
	Tree    string `json:"tree,omitempty"`    // its worktree, where that could not be removed
	Why     string `json:"why,omitempty"`     // it could not
}

// Request is a request for the Keeper.
func Request(op run.Op, name string, a Ask) (run.Request, error) {
	b, err := json.Marshal(a)
	return run.Request{Op: op, Node: name, Text: string(b)}, err
}

// asked reads what a request asks for.
func asked(q run.Request) (Ask, error) {
	var a Ask
	if q.Text == "" {
		return a, nil
	}
	if err := json.Unmarshal([]byte(q.Text), &a); err != nil {
		return a, fmt.Errorf("this request cannot be read: %w", err)
	}
	return a, nil
}
