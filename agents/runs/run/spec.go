package run

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cmux/agents/kinds/question"
	"cmux/agents/runs/owner"
	"cmux/dag"
	"cmux/signals"
)

// Dependency is what an attempt may know about a node it depends on.
type Dependency struct {
	Name     string    `json:"name"`
	Label    dag.Label `json:"label"` // as in status when the attempt was made
	Branch   string    `json:"branch,omitempty"`
	Tip      string    `json:"tip,omitempty"` // what it contributes; empty: nothing
	Summary  string    `json:"summary,omitempty"`
	DiffStat string    `json:"diffstat,omitempty"`

	Outputs map[string]string `json:"outputs,omitempty"` // that it published
}

// Spec is what one attempt of one node is to do. The runner writes it before
// the launch and removes it, holding the node's lock, when it gives the
// attempt up: a wrapper that comes late finds no spec and leaves.
type Spec struct {
	Node         string       `json:"node"`
	Frame        *Frame       `json:"frame"`
	Def          *dag.Node    `json:"def,omitempty"` // the node as the plan has it
	Attempt      int          `json:"attempt"`
	Token        string       `json:"token"` // proves that `cmux done` comes from this attempt
	Place        Place        `json:"place"`
	Terms        owner.Terms  `json:"terms,omitzero"`
	Tries        int          `json:"tries"` // failed attempts counted before this one
	Losses       int          `json:"losses"`
	Headless     bool         `json:"headless,omitempty"`
	Trial        bool         `json:"trial,omitempty"`        // it finds out whether the limit of its account is over
	Dependencies []Dependency `json:"dependencies,omitempty"` // direct, in depends_on order
	Branches     []Dependency `json:"branches,omitempty"`     // role merge: what to bring in, in graph order
	Conversation string       `json:"conversation,omitempty"` // to be resumed
	Said         string       `json:"said,omitempty"`         // by the person who sent the work back
	Past         *Past        `json:"past,omitempty"`         // the attempts before, for the agent's prompt; nil: none
	Left         *Left        `json:"left,omitempty"`         // the result of the attempt before, which nobody has decided on
	Outputs      dag.Outputs  `json:"outputs,omitempty"`      // that earlier attempts have published
	Used         dag.Usage    `json:"used,omitzero"`          // by earlier attempts
	Counted      dag.Usage    `json:"counted,omitzero"`       // of it, in Conversation
	Member       *Member      `json:"member,omitempty"`       // a standing agent: it stays between pieces of work; nil: a node's attempt
	Brief        string       `json:"brief,omitempty"`        // Member: what it is told first in a new conversation
	Work         *Work        `json:"work,omitempty"`         // Member: that it was at when the attempt before ended; nil: none
	Told         bool         `json:"told,omitempty"`         // Work: it is known to have been told of it
	Lost         string       `json:"lost,omitempty"`         // Member: how the attempt before ended, which nobody had ordered
	Midway       bool         `json:"midway,omitempty"`       // Member: that was in the middle of a turn
	Dropped      bool         `json:"dropped,omitempty"`      // of a standing agent: its last turn is not continued, whatever its conversation says
	Answers      []string     `json:"answers,omitempty"`      // Member: ids of the messages that it has read and whose reply is not recorded
	LastTold     string       `json:"last_told,omitempty"`    // Midway: what it was told last in that; empty: it is not known
	Beside       string       `json:"beside,omitempty"`       // Member: what begins with it is a worktree of one of the organization
	Zones        Zones        `json:"zones,omitzero"`         // Member: of the organization's configuration
	Checks       []string     `json:"checks,omitempty"`       // Member: the commands that check work before a merge; the agent may run them where it works, a supervisor in the person's folder

	Posed *question.Posed `json:"posed,omitempty"` // Member: the question by message that it waits for the answer to; nil: none
}

// WorkDir is the folder in which the node's program and its checks run.
func (s *Spec) WorkDir() string { return filepath.Join(s.Place.Dir, filepath.FromSlash(s.Def.Dir)) }

// FindWorkDir is WorkDir, once it is a folder that does not lead out of where the
// node works.
func (s *Spec) FindWorkDir() (string, error) {
	dir := s.WorkDir()
	if s.Def.Dir == "" {
		return dir, nil
	}
	root, err := filepath.EvalSymlinks(s.Place.Dir)
	if err != nil {
		return "", err
	}
	at, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("dir: there is no folder %s in %s", s.Def.Dir, s.Place.Dir)
	}
	if err != nil {
		return "", fmt.Errorf("dir: %s: %w", s.Def.Dir, err)
	}
	if rel, err := filepath.Rel(root, at); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("dir: %s leads out of %s, to %s", s.Def.Dir, s.Place.Dir, at)
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return "", fmt.Errorf("dir: %s in %s is not a folder", s.Def.Dir, s.Place.Dir)
	}
	return dir, nil
}

// Zones are parts of the project by how much is at stake, as patterns of a scope.
type Zones struct {
	Forbidden []string `json:"forbidden,omitempty"`
	Careful   []string `json:"careful,omitempty"`
	Safe      []string `json:"safe,omitempty"`
}

// NewToken makes the token of an attempt.
func NewToken() string { return rand.Text() }

// WriteSpec leaves s where its wrapper will look for it, without the peers of
// its frame: the graph beside it tells them, and every spec would grow with it.
func (r *Run) WriteSpec(s *Spec) error {
	lean := *s
	if s.Frame != nil && s.Member == nil {
		f := *s.Frame
		f.Peers = nil
		lean.Frame = &f
	}
	b, err := r.sealed(specPlace(s.Node, s.Attempt), &lean)
	if err != nil {
		return err
	}
	if err := signals.MkdirAll(r.NodeDir(s.Node), 0o700); err != nil {
		return err
	}
	// Its reader is started afterwards and does not outlive a power cut, so it
	// need not be durable.
	return signals.Explain(signals.PutFile(r.SpecPath(s.Node, s.Attempt), b, 0o600))
}

// ErrWithdrawn says that the attempt was given up before its wrapper came.
var ErrWithdrawn = errors.New("this attempt was given up")

// ReadSpec reads the spec of attempt n as WriteSpec left it, or says
// ErrWithdrawn.
func (r *Run) ReadSpec(node string, n int) (*Spec, error) {
	b, err := signals.ReadFile(r.SpecPath(node, n), signals.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("attempt %d of %s: %w", n, node, ErrWithdrawn)
	}
	if err != nil {
		return nil, err
	}
	s := new(Spec)
	if err := r.unseal(specPlace(node, n), b, s); err != nil {
		return nil, fmt.Errorf("%s: %w", r.SpecPath(node, n), err)
	}
	if s.Def != nil && s.Frame != nil {
		return s, nil
	}
	// An earlier cmux wrote it.
	if err := r.LoadGraph(); err != nil {
		return nil, err
	}
	s.Frame = r.Frame()
	if s.Def == nil {
		i := r.Plan.Graph.Index(node)
		if i < 0 {
			return nil, fmt.Errorf("run %s has no node %s", r.Plan.ID, node)
		}
		s.Def = &r.Plan.Graph.Nodes[i]
	}
	return s, nil
}

// Warm does for a process that is to carry out an attempt what would take time
// once it is told which: types are met for the first time, files are read.
func Warm(r *Run) {
	_ = json.Unmarshal([]byte(`{"frame":{"peers":[{}]},"def":{},"place":{},"dependencies":[{"label":{}}],"used":{}}`), new(Spec))
	_, _ = (&Record{Type: AttemptEnd, End: new(End), Marker: new(Written)}).encode()
	_, _ = r.Env()
}

// DropSpec withdraws the spec of attempt n. The caller holds the node's lock.
func (r *Run) DropSpec(node string, n int) error {
	err := signals.RemoveFile(r.SpecPath(node, n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
