// Package origin says who gives an order: a person, or a process that an
// attempt started.
//
// A process comes from an attempt when it or one of its ancestors has the
// attempt's mark in its environment, or descends from the attempt's wrapper or
// from the runner. Wrappers and runners take in the orphans of what they start
// (see proc.NewSpawner), so that setsid, a double fork and an empty environment
// do not lead out. What does lead out is handing the order to a process that
// was there before: at, cron, systemd-run, a server of the agent's own that
// outlived its attempt, another login. That is a person's, as is CI. Who has put
// itself where the run's processes are not seen is told nothing but that.
//
// An order is judged in the project that it is for: in another one, an agent
// may do what it likes.
package origin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// Attempt is the attempt that an order comes from.
type Attempt struct {
	Node string // empty: one that the runner itself carries, and which is not known
	N    int

	dir string // of its run, or of the organization
}

// Standing reports whether it is a life of a standing agent, and Node its name.
func (a *Attempt) Standing() bool { return filepath.Base(a.dir) == run.OrganizationID }

// Of is the id of the run that the attempt belongs to, or run.OrganizationID.
func (a *Attempt) Of() string { return filepath.Base(a.dir) }

func (a *Attempt) String() string {
	if a.Node == "" {
		return "an agent"
	}
	return a.Node
}

// Of is the attempt of the project at root that the calling process comes from;
// nil: it is a person's. It needs nobody's key and believes no file that an
// agent may have changed: what it goes by are processes and how they were
// started.
func Of(root string) (*Attempt, error) {
	line, err := proc.Ancestry()
	if err != nil {
		return nil, fmt.Errorf("finding out who calls: %w", err)
	}
	ids, err := groups(root)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	// The outermost mark is the one that a wrapper gave: what an agent starts may
	// have any other.
	for _, p := range slices.Backward(line) {
		for _, id := range ids {
			if rest, ok := strings.CutPrefix(p.Attempt, mark(root, id)+"/"); ok {
				node, n, _ := strings.Cut(rest, "/")
				number, _ := strconv.Atoi(n)
				return &Attempt{node, number, folder(root, id)}, nil
			}
		}
	}
	holders, err := runners(root)
	if err != nil {
		return nil, err
	}
	for _, p := range line[1:] {
		dir, node, n, ok := wrapper(p.Args)
		if ok && slices.Contains(ids, filepath.Base(dir)) && dir == folder(root, filepath.Base(dir)) {
			return &Attempt{node, n, dir}, nil
		}
		latest := folder(root, ids[len(ids)-1])
		for _, h := range holders {
			if h.PID == p.PID {
				if slices.Contains(ids, h.For) {
					latest = folder(root, h.For)
				}
				return &Attempt{dir: latest}, nil
			}
		}
		if carries(p, root) {
			return &Attempt{dir: latest}, nil
		}
	}
	return nil, nil
}

// groups are the ids of what attempts of the project at root belong to: its
// organization, then its runs, the newest last.
func groups(root string) ([]string, error) {
	ids, err := run.List(root)
	if err != nil {
		return nil, err
	}
	if info, err := os.Lstat(run.OrganizationDir(root)); err == nil && info.IsDir() {
		ids = slices.Insert(ids, 0, run.OrganizationID)
	}
	return ids, nil
}

// mark is what the processes of one of the groups are marked with.
func mark(root, id string) string {
	if id == run.OrganizationID {
		return run.MarkOf(root)
	}
	return id
}

// folder is the folder of one of the groups.
func folder(root, id string) string {
	if id == run.OrganizationID {
		return run.OrganizationDir(root)
	}
	return run.Dir(root, id)
}

// runners are the processes that carry runs of the project at root.
func runners(root string) (all []signals.Holder, err error) {
	locks, err := run.Locks(root)
	if err != nil {
		return nil, err
	}
	for _, path := range locks {
		holder, held, err := signals.ReadHolder(path)
		if err != nil || !held {
			continue
		}
		if !visible(holder) {
			if stays(path, holder) {
				return nil, fmt.Errorf("who gives this order cannot be told: the run's runner (%s) is not among the processes that are seen here, as in a container or a process namespace of its own; give it where the run was started", holder)
			}
			continue
		}
		all = append(all, holder)
	}
	return all, nil
}

// dying is how long a process that was killed may hold its locks after it is gone from what is
// seen: the kernel closes its files last.
const dying = time.Second

// stays reports whether a holder that is not seen goes on holding its lock.
func stays(path string, holder signals.Holder) bool {
	for end := time.Now().Add(dying); ; time.Sleep(dying / 100) {
		again, still, err := signals.ReadHolder(path)
		if err != nil || !still || again != holder {
			return false
		}
		if time.Now().After(end) {
			return true
		}
	}
}

// OfPeer is the attempt of the run that the process pid comes from, as far as
// that can be told; nil: of none. What descends from the calling process is of
// its attempt, which own names, whatever it says itself. The error is
// proc.ErrGone when the process has ended.
func OfPeer(r *run.Run, own Attempt, pid int) (*Attempt, error) {
	line, err := proc.AncestryOf(pid)
	if err != nil {
		return nil, err
	}
	own.dir = r.Dir
	var found *Attempt
	for i, p := range line {
		if p.PID == os.Getpid() && i > 0 {
			return &own, nil
		}
		if rest, ok := strings.CutPrefix(p.Attempt, r.Mark()+"/"); ok {
			node, n, _ := strings.Cut(rest, "/")
			number, _ := strconv.Atoi(n)
			found = &Attempt{node, number, r.Dir}
		} else if dir, node, n, ok := wrapper(p.Args); ok && i > 0 && filepath.Base(dir) == filepath.Base(r.Dir) && (dir == r.Dir || !r.IsOrganization()) {
			found = &Attempt{node, n, r.Dir}
		}
	}
	return found, nil
}

// visible reports whether the holder of a lock is among the processes that the
// caller sees. Who sees it not sees nothing of who descends from it either.
func visible(holder signals.Holder) bool {
	_, err := proc.StartTime(holder.PID)
	return holder.PID == 0 || !errors.Is(err, proc.ErrGone)
}

// wrapper reads the command line of a wrapper, as the runner starts it.
func wrapper(args []string) (dir, node string, n int, ok bool) {
	if len(args) != 9 || args[1] != "agents" || args[2] != "exec" || args[3] != "--run" || args[5] != "--attempt" {
		return "", "", 0, false
	}
	n, err := strconv.Atoi(args[6])
	if args[7] != "--" || err != nil {
		return "", "", 0, false
	}
	return args[4], args[8], n, true
}

// carries reports whether p is a command that carries a run of the project at
// root in its own process: what descends from one is of the run.
func carries(p proc.Ancestor, root string) bool {
	if len(p.Args) < 3 || filepath.Base(p.Args[0]) != "cmux" {
		return false
	}
	switch p.Args[1] + " " + p.Args[2] {
	case "agents run", "agents start", "agents resume", "keep --run":
	default:
		return false
	}
	rel, err := filepath.Rel(root, p.Dir)
	return err == nil && filepath.IsLocal(rel)
}

// maxTold bounds what an incident repeats of a command line.
const maxTold = 200

// Tried is the record that the attempt tried a command that is a person's, with its words
// for a person to give it all the same.
func (a *Attempt) Tried(command string, words []string) run.Record {
	if len(strings.Join(words, " ")) > maxTold {
		words = nil // a person would not see the whole of it
	}
	if len(command) > maxTold {
		command = command[:maxTold] + "..."
	}
	return run.Record{Type: run.Incident, Node: a.Node, Attempt: a.N, How: run.IncidentRefused,
		Detail: fmt.Sprintf("tried %s, which is a person's; nothing was done", command), Words: words}
}

// Refused records, once, what Tried says.
// Where the caller has not the key that this takes (its HOME is another), the
// runner is left to find that it was tried.
func (a *Attempt) Refused(ctx context.Context, command string, words []string) error {
	rec := a.Tried(command, words)
	if a.Standing() {
		return a.refused(ctx, rec)
	}
	r, err := run.OpenDir(a.dir)
	if err != nil {
		return run.LeaveUnsealed(a.dir, rec)
	}
	h := run.NewHistory(r.Plan.Graph)
	if _, err := r.Replay(h, 0, nil); err != nil {
		return err
	}
	for _, known := range h.Incidents {
		if known.Node == rec.Node && known.How == rec.How && known.Detail == rec.Detail && slices.Equal(known.Words, rec.Words) {
			return nil
		}
	}
	book, err := r.OpenBook()
	if err != nil {
		return err
	}
	return errors.Join(book.Append(ctx, rec), book.Close())
}

// refused is Refused for a standing agent, which has records of its own.
func (a *Attempt) refused(ctx context.Context, rec run.Record) error {
	r, err := run.OpenPlan(a.dir)
	if err != nil {
		return run.LeaveUnsealed(a.dir, rec)
	}
	open := r.OpenBook
	if a.Node != "" {
		open = func() (*run.Book, error) { return r.OpenAgentBook(a.Node) }
	}
	book, err := open()
	if err != nil {
		return err
	}
	return errors.Join(book.Append(ctx, rec), book.Close())
}
