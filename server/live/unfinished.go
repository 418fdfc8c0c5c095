package live

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/records/unfinished"
	"cmux/server/store"
	"cmux/signals"
)

// FollowUnfinished tells live clients what members of rooms of the project at root are
// writing, until ctx ends: while it runs, they write it down. An error means that clients
// are told nothing of it; everything else is not touched by it.
func (h *Hub) FollowUnfinished(ctx context.Context, root string) error {
	dir := unfinished.Dir(root)
	// One that was killed has left its files. The folder stays: members write into it already.
	if err := errors.Join(clearUnfinished(dir), signals.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	w := signals.Watch(ctx, dir)
	defer w.Close()
	last := map[string]unfinished.Piece{}
	for n := range w.C {
		files := n.Files
		if n.Rescan { // as with the first notice: somebody may have written before the watch
			files, _ = filesIn(dir) // a folder that is gone has none
		}
		for _, path := range files {
			name := filepath.Base(path)
			room, member, ok := strings.Cut(name, ".")
			p, err := unfinished.Read(path)
			if !ok || room == "" || err != nil || p == last[name] { // it is being replaced: another notice comes
				continue
			}
			last[name] = p
			h.Unfinished(room, member, p)
		}
	}
	err := clearUnfinished(dir)
	gone := signals.RemoveDir(dir)
	if errors.Is(gone, fs.ErrExist) || errors.Is(gone, fs.ErrNotExist) { // somebody has written meanwhile, or removed it
		gone = nil
	}
	return errors.Join(err, gone)
}

// clearUnfinished removes the files in the folder.
func clearUnfinished(dir string) error {
	files, err := filesIn(dir)
	errs := []error{err}
	for _, path := range files {
		if err := signals.RemoveFile(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// filesIn are the files in a folder, none where there is none.
func filesIn(dir string) (all []string, err error) {
	entries, err := signals.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		all = append(all, filepath.Join(dir, e.Name()))
	}
	return all, err
}

// Unfinished tells live clients what a member of a room has written of a text so far. It is
// not in the log: of several that wait for a client, it gets the last.
func (h *Hub) Unfinished(room, member string, p unfinished.Piece) {
	b, _ := json.Marshal(p) // of texts and a time alone
	m := unlogged(Frame{Event: "room_delta", At: time.Now().UTC(), Source: store.Room + room, Name: member, Data: b})
	h.mu.Lock()
	defer h.mu.Unlock()
	key := room + "." + member
	if p.Text == "" {
		delete(h.unfinished, key)
	} else {
		h.unfinished[key] = m
	}
	for c := range h.live {
		c.replace(key, m)
	}
}
