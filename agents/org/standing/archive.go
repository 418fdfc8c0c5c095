package standing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cmux/agents/runs/run"
	"cmux/signals"
)

const (
	archives    = "archives" // folder in .cmux of what agents leave behind
	screenFile  = "last-screen.txt"
	removalFile = "removed.json"

	deletionsFile = "deletions.jsonl" // in archives: a line for each agent that was removed
)

// Removal says in an agent's archive how it came there, and in the deletion log.
type Removal struct {
	Gone
	Member run.Member `json:"member"`
	By     string     `json:"by"`
	Force  bool       `json:"force,omitempty"`
	At     time.Time  `json:"at"`
}

// Removals returns the deletion log, newest first. It skips a line that it cannot read.
func (o *Org) Removals() ([]Removal, error) {
	all := []Removal{}
	_, err := signals.ReadLines(filepath.Join(o.folder(archives), deletionsFile), 0, func(line []byte, _ int64) error {
		var r Removal
		if json.Unmarshal(line, &r) == nil && r.Name != "" {
			all = append(all, r)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	slices.Reverse(all)
	return all, err
}

// logRemoval writes an agent that is being removed into the deletion log, once.
func (o *Org) logRemoval(ctx context.Context, r *Removal) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := signals.MkdirAll(o.folder(archives), 0o700); err != nil {
		return err
	}
	mark, err := json.Marshal(r.Archive) // names the request
	if err != nil {
		return err
	}
	path := filepath.Join(o.folder(archives), deletionsFile)
	return signals.InTurn(ctx, path, true, nil, func(t *signals.Turn) error {
		there := false // by a keeper that was killed before the agent was gone
		_, err := signals.ReadOpen(t.File(), 0, func(old []byte, _ int64) error {
			there = there || bytes.Contains(old, mark)
			return nil
		})
		if err != nil || there {
			return err
		}
		return t.Append(line)
	})
}

// archive is where what an agent showed before a reset is kept.
func (o *Org) archive(a *Agent, now time.Time) string {
	return filepath.Join(o.folder(archives), a.Name, run.NewID(now))
}

// keepScreen keeps the last screen of an agent in a folder. It reports whether
// there was one.
func (k *Keeper) keepScreen(ctx context.Context, a *Agent, dir string) (bool, error) {
	text, err := k.Windows.Screen(ctx, a.Name)
	if err != nil || text == "" {
		return false, err
	}
	if err := signals.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	return true, signals.WriteFile(filepath.Join(dir, screenFile), []byte(text+"\n"), 0o600)
}

// move moves an agent's folder to the archives and its context with it.
func (o *Org) move(name, to string) error {
	if err := signals.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	context := o.contextPath(name)
	if err := os.Rename(context, filepath.Join(o.Run.NodeDir(name), filepath.Base(context))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(o.Run.NodeDir(name), to)
}
