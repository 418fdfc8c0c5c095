package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/platform/seal"
	"cmux/signals"
)

// Several runs share the folder of markers, so each marker's name has one owner:
// the run that recorded it, or that would. A run owns the names of its graph but
// for those that it lost to another one since it ended. What a run does not own
// says nothing in it.

// Owner is the newest run of a session, and which names it lost.
type Owner struct {
	ID      string `json:"id"`
	Session string `json:"session"`

	// Free says that a person gave its names up: another run may take them,
	// though this one has not ended.
	Free bool     `json:"free,omitempty"`
	Lost []string `json:"lost,omitempty"` // of its nodes' names; another run has them, or nobody
}

const ownersFile = "owners.json"

// OwnersPath is the file that says which names the runs of the project lost.
func OwnersPath(root string) string { return filepath.Join(Folder(root), ownersFile) }

type ownersList struct {
	Runs []Owner `json:"runs"` // oldest first
}

// ownersPlace is what the list is sealed for.
const ownersPlace = "owners"

// Owners are the newest runs of the project's sessions, oldest first. A list
// that is gone or was not written by cmux is made again from the runs.
func Owners(root string) ([]Owner, error) {
	ids, err := List(root)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	listed := readOwners(root)
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	last := ""
	bySession := make(map[string]Owner)
	for _, o := range listed {
		if !there[o.ID] {
			continue // its start was interrupted before it was made, or it was removed
		}
		last = max(last, o.ID)
		if o.ID > bySession[o.Session].ID {
			bySession[o.Session] = o
		}
	}
	unlisted, err := newer(root, ids, last)
	if err != nil {
		return nil, err
	}
	for _, o := range unlisted {
		if o.ID > bySession[o.Session].ID {
			bySession[o.Session] = o
		}
	}
	all := make([]Owner, 0, len(bySession))
	for _, o := range bySession {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b Owner) int { return strings.Compare(a.ID, b.ID) })
	if len(unlisted) > 0 && len(all) > 1 {
		err = dispossess(root, all, unlisted)
	}
	return all, err
}

// newer is the newest run of each session among those after the run last, which
// are in no list: the list is gone, or an earlier cmux started them.
func newer(root string, ids []string, last string) (all []Owner, err error) {
	seen := make(map[string]bool)
	for k, id := range slices.Backward(ids) {
		if id <= last {
			break
		}
		r, err := OpenPlan(Dir(root, id))
		if err != nil {
			if k == len(ids)-1 { // who opens it is told why
				all = append(all, Owner{ID: id})
			}
			continue
		}
		session := r.Plan.Session
		if session == "" { // of an earlier cmux, to which only the newest run counted
			if k == len(ids)-1 {
				if err := r.LoadGraph(); err != nil {
					all = append(all, Owner{ID: id})
					break
				}
				all = append(all, Owner{ID: id, Session: r.Plan.Graph.Session})
			}
			break
		}
		if !seen[session] {
			seen[session] = true
			all = append(all, Owner{ID: id, Session: session})
		}
	}
	return all, nil
}

// dispossess takes the names of unlisted runs from the older ones: the newest
// run has a name.
func dispossess(root string, all, unlisted []Owner) error {
	had := make(map[string]bool)
	for i := range slices.Backward(all) {
		o := &all[i]
		if i < len(all)-1 && !slices.ContainsFunc(unlisted, func(u Owner) bool { return u.ID >= o.ID }) {
			continue
		}
		r, err := Open(root, o.ID)
		if err != nil {
			continue // who opens it is told
		}
		for _, name := range r.Plan.Graph.Names() {
			if had[name] && o.Owns(name) {
				o.Lost = append(o.Lost, name)
			}
			had[name] = had[name] || o.Owns(name)
		}
	}
	return nil
}

// Owns reports whether a name of the run's graph is the run's.
func (o *Owner) Owns(name string) bool { return !slices.Contains(o.Lost, name) }

func readOwners(root string) []Owner {
	b, err := signals.ReadFile(OwnersPath(root), signals.MaxFile)
	if err != nil {
		return nil
	}
	own, err := seal.Find()
	if err != nil {
		return nil
	}
	var l ownersList
	if own.Derive(ownersPlace, root).Open(ownersPlace, b) != nil || json.Unmarshal(b, &l) != nil {
		return nil
	}
	return l.Runs
}

func writeOwners(root string, all []Owner) error {
	b, err := json.Marshal(ownersList{all})
	if err != nil {
		return err
	}
	own, err := seal.Own()
	if err != nil {
		return err
	}
	if b, err = own.Derive(ownersPlace, root).Seal(ownersPlace, b); err != nil {
		return err
	}
	return signals.WriteFile(OwnersPath(root), append(b, '\n'), 0o600)
}

// Owner is what the run is in the list of owners; nil: a newer run of its session
// has taken its place.
func (r *Run) Owner() (*Owner, error) {
	all, err := Owners(r.Plan.Root)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("run %s was started in %s, where it is no more: the project was moved", r.Plan.ID, r.Plan.Root)
	}
	if i := slices.IndexFunc(all, func(o Owner) bool { return o.ID == r.Plan.ID }); i >= 0 {
		return &all[i], nil
	}
	return nil, nil
}

// OwnedError says that names are those of a run that has not ended.
type OwnedError struct {
	Names   []string
	ID      string
	Session string
	Live    bool // a runner carries it
}

func (e *OwnedError) Error() string {
	state := "which has not ended"
	if e.Live {
		state = "which is under way"
	}
	nodes := "the node " + e.Names[0]
	if n := len(e.Names); n > 1 {
		nodes = fmt.Sprintf("the nodes %s", strings.Join(e.Names[:min(n, 5)], ", "))
		if n > 5 {
			nodes += fmt.Sprintf(" and %d more", n-5)
		}
	}
	return fmt.Sprintf("run %s of session %s, %s, has %s: a name can be in one unfinished run only", e.ID, e.Session, state, nodes)
}

// Try is what to do about it.
func (e *OwnedError) Try() string {
	s := " --session " + e.Session
	if e.Live {
		return "other names, or cmux agents wait" + s + ", or cmux agents stop" + s + " and then cmux agents cleanup" + s
	}
	return "other names, or cmux agents resume" + s + ", or cmux agents cleanup" + s + ", which gives its names up"
}

// Holdings are the names, of those given, that a run of another session has.
type Holdings struct {
	Run   *Run
	Names []string
}

// Held are the runs of sessions other than this one that have some of names. The
// error is an *OwnedError when one of them has not ended.
func Held(root, session string, names []string) ([]Holdings, error) {
	all, err := Owners(root)
	if err != nil {
		return nil, err
	}
	return held(root, all, session, names)
}

func held(root string, all []Owner, session string, names []string) ([]Holdings, error) {
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	var found []Holdings
	for i := range all {
		o := &all[i]
		if o.Session == session {
			continue
		}
		r, err := Open(root, o.ID)
		if err != nil {
			return nil, err
		}
		h := Holdings{Run: r}
		for _, n := range r.Plan.Graph.Names() {
			if wanted[n] && o.Owns(n) {
				h.Names = append(h.Names, n)
			}
		}
		if h.Names == nil {
			continue
		}
		if !o.Free {
			over, err := r.Over()
			if err != nil {
				return nil, err
			}
			if !over {
				return nil, &OwnedError{h.Names, o.ID, o.Session, r.RunnerLives()}
			}
		}
		found = append(found, h)
	}
	return found, nil
}

// Register is the list of owners under the project's lock: nobody else changes
// it.
type Register struct {
	root   string
	lock   *signals.Lock
	owners []Owner
}

func projectLock(root string) string {
	return filepath.Join(Folder(root), signals.Locks, ".project")
}

// Unlock lets others change the list.
func (g *Register) Unlock() error { return g.lock.Unlock() }

// Enter makes run id, which is about to be made, the owner of names. Runs of
// other sessions that have ended lose them; an *OwnedError names one that has not.
func (g *Register) Enter(id, session string, names []string) error {
	if err := g.lose(session, names); err != nil {
		return err
	}
	g.owners = append(g.owners, Owner{ID: id, Session: session})
	return writeOwners(g.root, g.owners)
}

// Free takes names from runs of other sessions than r's that have ended: they
// are nobody's until Give.
func (g *Register) Free(r *Run, names []string) error {
	if err := g.lose(r.Plan.Graph.Session, names); err != nil {
		return err
	}
	o := g.of(r)
	if o == nil {
		return nil
	}
	for _, n := range names {
		if o.Owns(n) {
			o.Lost = append(o.Lost, n)
		}
	}
	return writeOwners(g.root, g.owners)
}

// Give makes r the owner of names that were freed.
func (g *Register) Give(r *Run, names []string) error {
	o := g.of(r)
	if o == nil {
		return nil
	}
	o.Free = false
	o.Lost = slices.DeleteFunc(o.Lost, func(n string) bool { return slices.Contains(names, n) })
	return writeOwners(g.root, g.owners)
}

// Release has other runs take the names of r, which no runner carries, though it
// has not ended.
func (g *Register) Release(r *Run) error {
	o := g.of(r)
	if o == nil || o.Free {
		return nil
	}
	o.Free = true
	return writeOwners(g.root, g.owners)
}

// Of is what r is in the list; nil: nothing any more.
func (g *Register) Of(r *Run) *Owner { return g.of(r) }

// Owners are the runs in the list.
func (g *Register) Owners() []Owner { return g.owners }

func (g *Register) of(r *Run) *Owner {
	for i := range g.owners {
		if g.owners[i].ID == r.Plan.ID {
			return &g.owners[i]
		}
	}
	return nil
}

// lose takes names from runs of other sessions, in memory.
func (g *Register) lose(session string, names []string) error {
	all, err := held(g.root, g.owners, session, names)
	if err != nil {
		return err
	}
	for _, h := range all {
		o := g.of(h.Run)
		o.Lost = append(o.Lost, h.Names...)
	}
	return nil
}

// Locks are the paths of the locks that runners of the project hold, be they
// held or not.
func Locks(root string) ([]string, error) {
	all := []string{legacyLock(root)}
	entries, err := signals.ReadDir(filepath.Join(Folder(root), signals.Locks))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && e.Type()&os.ModeType == 0 {
			all = append(all, filepath.Join(Folder(root), signals.Locks, e.Name()))
		}
	}
	return all, nil
}

// LockProject waits for the project's lock and reads the list of owners. Whoever
// has it holds it for moments.
func LockProject(ctx context.Context, root string) (*Register, error) {
	if err := signals.Init(root); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, projectPatience, fmt.Errorf("the project's lock was not to be had within %s", projectPatience))
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		lock, err := signals.TryLock(projectLock(root))
		var held *signals.HeldError
		if err == nil {
			all, err := Owners(root)
			if err != nil {
				return nil, errors.Join(err, lock.Unlock())
			}
			return &Register{root, lock, all}, nil
		}
		if !errors.As(err, &held) {
			return nil, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}

const projectPatience = 10 * time.Second

// others leaves out of files, which are names in the folder of markers, those
// that are markers of other runs.
func (r *Run) others(files []string) ([]string, error) {
	if len(files) == 0 {
		return files, nil
	}
	all, err := Owners(r.Plan.Root)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if o.ID == r.Plan.ID {
			continue
		}
		other, err := Open(r.Plan.Root, o.ID)
		if err != nil {
			continue // what it is worth is told where it is looked at
		}
		files = slices.DeleteFunc(files, func(file string) bool {
			name, ok := strings.CutSuffix(file, signals.Suffix)
			return ok && other.Plan.Graph.Index(name) >= 0
		})
	}
	return files, nil
}
