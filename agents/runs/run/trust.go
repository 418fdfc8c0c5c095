package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cmux/agents/platform/seal"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Refusal is a folder or a run that is not believed, and the way out.
type Refusal struct{ error }

func (e *Refusal) Unwrap() error { return e.error }

func untrusted(err error, try string) error { return &Refusal{hint.New(err, try)} }

// KeyFolder is where the key of the person is kept by which cmux knows what it
// wrote.
func KeyFolder() (string, error) { return seal.Folder() }

// Vouch refuses the .cmux folder of the project at root when it is a link or
// belongs to another user: what stands in it is carried out. A project without
// one is fine.
func Vouch(root string) error {
	for _, dir := range []string{Folder(root), runsDir(root), SignalsDir(root), filepath.Join(Folder(root), signals.Locks), programsDir(root)} {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := signals.Expect(dir, fs.ModeDir); err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
			sudo := "sudo " // only root gives files away
			if os.Geteuid() == 0 {
				sudo = ""
			}
			return untrusted(fmt.Errorf("%s belongs to user %d and you are user %d: cmux does not trust or use anything in it", dir, st.Uid, os.Geteuid()),
				fmt.Sprintf("run cmux as user %d, or remove what you do not know and make the folder yours: %schown -R %d %s", st.Uid, sudo, os.Geteuid(), Folder(root)))
		}
	}
	return nil
}

// Places of what is sealed in a run. The plan is sealed with the person's own
// key and names the project; all else with a key that follows from both.
const (
	graphPlace = "graph"
	envPlace   = "env"
	namesPlace = "env-names"
)

func planPlace(id string) string                { return "plan/" + id }
func specPlace(node string, attempt int) string { return "spec/" + node + "/" + strconv.Itoa(attempt) }
func requestPlace(id string) string             { return "request/" + id }
func orderPlace(node string, attempt int) string {
	return "order/" + node + "/" + strconv.Itoa(attempt)
}
func recordPlace(at int64) string { return "record/" + strconv.FormatInt(at, 10) }
func agentPlace(name string) func(int64) string {
	return func(at int64) string { return "record/" + name + "/" + strconv.FormatInt(at, 10) }
}

// keyOf is the key of the run with a plan, of the person with a key.
func keyOf(own *seal.Key, p *Plan) *seal.Key { return own.Derive("run", p.ID, p.Root) }

// sealed is v as JSON with the code for a place.
func (r *Run) sealed(place string, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if b, err = r.key.Seal(place, b); err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// writeSealed replaces the file name by v, sealed for a place.
func (r *Run) writeSealed(name, place string, v any, perm fs.FileMode) error {
	b, err := r.sealed(place, v)
	if err != nil {
		return err
	}
	return signals.WriteFile(name, b, perm)
}

// unseal reads v from what was sealed for a place.
func (r *Run) unseal(place string, b []byte, v any) error {
	if err := r.key.Open(place, b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// SealOrder is an order to an attempt as JSON, with the code that proves that
// cmux gives it.
func (r *Run) SealOrder(node string, attempt int, order any) ([]byte, error) {
	return r.sealed(orderPlace(node, attempt), order)
}

// OpenOrder reports whether an order holds the code of SealOrder.
func (r *Run) OpenOrder(node string, attempt int, order []byte) error {
	return r.key.Open(orderPlace(node, attempt), order)
}

// foreign says of the run in dir that somebody else made it.
func foreign(dir string, why error) error {
	key := "your key"
	if path, err := seal.Path(); err == nil {
		key += " " + path
	}
	return untrusted(fmt.Errorf("run %s is not trusted, so cmux ignores it: %s was %w (an older cmux, another user or machine, a repository that came with it, or %s is another than it was)",
		filepath.Base(dir), filepath.Join(dir, planFile), why, key),
		"cmux agents start --new, which sets the run aside unread and continues its branches; or, if the key was replaced, put the old one back")
}

// keyless says of the run in dir that there is no key that could have signed it.
func keyless(dir string) error {
	path, _ := seal.Path()
	return untrusted(fmt.Errorf("run %s is not trusted, so cmux ignores it: you have no key %s with which it could be signed (it was removed, or the run is of an older cmux, another user or machine, or came with the repository)",
		filepath.Base(dir), path),
		"cmux agents start --new, which makes a key, sets the run aside unread and continues its branches; or, if the key was removed, put it back")
}

// graphless says of the run in dir that its graph cannot be read, as after a
// power cut on a disk that did not keep it.
func graphless(dir string, why error) error {
	return untrusted(fmt.Errorf("run %s cannot go on, its graph is damaged or gone: %w", filepath.Base(dir), why),
		"cmux agents start --new, which sets the run aside unread and continues its branches")
}

// moved says that the run in dir is of another project.
func moved(dir, was string) error {
	if _, err := os.Stat(was); err == nil {
		return untrusted(fmt.Errorf("run %s was started in %s and lies in %s, a copy of it: the worktrees of its nodes are the other's", filepath.Base(dir), was, projectOf(dir)),
			"cmux agents start --new, which sets the copied run aside and begins another")
	}
	// Worktrees point to the repository by its path.
	return untrusted(fmt.Errorf("run %s was started in %s and lies in %s: the project was moved, and the worktrees of its nodes still point to where it was", filepath.Base(dir), was, projectOf(dir)),
		"move it back to "+was+", or git worktree repair && cmux agents start --new, which sets the run aside and continues its branches")
}

// projectOf is the root of the project that a run's folder lies in.
func projectOf(dir string) string {
	if filepath.Base(dir) == OrganizationID { // no run's id
		return filepath.Dir(filepath.Dir(dir))
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(dir)))
}

// trust checks the plan of r, read as b, and gets the key of the run.
func (r *Run) trust(b []byte) error {
	own, err := seal.Find()
	if errors.Is(err, fs.ErrNotExist) {
		return keyless(r.Dir)
	}
	if err != nil {
		return err
	}
	if err := own.Open(planPlace(filepath.Base(r.Dir)), b); err != nil {
		return foreign(r.Dir, err)
	}
	if err := json.Unmarshal(b, &r.Plan); err != nil {
		return fmt.Errorf("run %s: %s: %w", filepath.Base(r.Dir), planFile, err)
	}
	here, err := os.Stat(projectOf(r.Dir))
	if err != nil {
		return err
	}
	if there, err := os.Stat(r.Plan.Root); err != nil || !os.SameFile(here, there) {
		return moved(r.Dir, r.Plan.Root)
	}
	r.key = keyOf(own, &r.Plan)
	r.Bin = r.Plan.Program.folder(r.Plan.Root)
	return nil
}

// LeaveUnsealed leaves a record for the runner of the run in dir to find, by
// somebody who has no key: it counts as an incident and for nothing else.
func LeaveUnsealed(dir string, rec Record) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return signals.WriteFile(filepath.Join(dir, requestsDir, NewID(time.Now())+".json"), append(b, '\n'), 0o600)
}

// RecordLine names the line of the records that begins at an offset.
func (r *Run) RecordLine(at int64) (string, error) {
	f, err := signals.Open(r.Records())
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, at))
	return fmt.Sprintf("%s:%d", recordsFile, 1+bytes.Count(b, []byte{'\n'})), err
}

// refusedDir is where SetAside puts what is not believed, inside .cmux.
const refusedDir = "refused"

// SetAside moves the runs of the project that are not believed out of the way,
// unread, and with them all markers, which may have come with them. It returns
// where they are now; the caller holds the project's lock.
func SetAside(root string) ([]string, error) {
	if err := Vouch(root); err != nil {
		return nil, err
	}
	ids, err := List(root)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(Folder(root), refusedDir)
	var put []string
	move := func(from, name string) error {
		if err := signals.MkdirAll(to, 0o700); err != nil {
			return err
		}
		for n := 1; ; n++ {
			target := filepath.Join(to, name)
			if n > 1 {
				target += "." + strconv.Itoa(n)
			}
			if _, err := os.Lstat(target); err == nil {
				continue
			}
			if err := os.Rename(from, target); err != nil {
				return err
			}
			put = append(put, target)
			return nil
		}
	}
	var strange []string
	for _, id := range ids {
		dir := filepath.Join(runsDir(root), id)
		_, err := OpenDir(dir)
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			continue
		}
		if err := atWork(dir); err != nil {
			return nil, err
		}
		strange = append(strange, id)
	}
	for _, id := range strange {
		if err := move(filepath.Join(runsDir(root), id), id); err != nil {
			return put, err
		}
	}
	if len(put) == 0 {
		return nil, nil
	}
	if err := move(SignalsDir(root), signals.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return put, err
	}
	return put, signals.Init(root)
}

// locksHeld are the nodes of the run in dir whose wrappers live, by name.
func locksHeld(dir string) iter.Seq2[string, signals.Holder] {
	return func(yield func(string, signals.Holder) bool) {
		entries, _ := signals.ReadDir(dir) // what cannot be read is no node's at work
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			// What is no lock, or none that may be read, is held by no wrapper.
			h, held, err := signals.ReadHolder(nodeLock(dir, e.Name()))
			if err == nil && held && !yield(e.Name(), h) {
				return
			}
		}
	}
}

// LocksHeld names the nodes whose wrappers live, whatever the records say.
func (r *Run) LocksHeld() (nodes []string) {
	for name := range locksHeld(r.Dir) {
		nodes = append(nodes, name)
	}
	return nodes
}

// atWork refuses when nodes of the run in dir, which is not believed, are still
// at work: another run would give their worktrees to its own. Only locks are
// asked, which nothing but a living process of this machine holds.
func atWork(dir string) error {
	var who, pids []string
	for name, h := range locksHeld(dir) {
		who = append(who, fmt.Sprintf("%s (%s)", name, h))
		if h.PID > 0 {
			pids = append(pids, strconv.Itoa(h.PID))
		}
	}
	if who == nil {
		return nil
	}
	return untrusted(fmt.Errorf("run %s is not trusted, and its nodes are still running in their worktrees: %s", filepath.Base(dir), strings.Join(who, ", ")),
		"wait until they have ended, or make sure that these are cmux's and end them: kill "+strings.Join(pids, " ")+"; then cmux agents start --new")
}
