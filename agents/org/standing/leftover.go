package standing

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/monitor"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// Windows are the panes that cmux made for agents and runs of this project, and whether
// somebody has them still. In doubt somebody does.
func (o *Org) Windows(ctx context.Context, server *tmux.Server) (windows []tmux.Made, owned func(tmux.Made) bool, err error) {
	all, err := server.MadePanes(ctx, tmux.RootOption)
	if err != nil {
		return nil, nil, err
	}
	root := o.Run.Plan.Root
	for _, w := range all {
		if w.Mark == root || w.Mark == sessionOwner(root) {
			windows = append(windows, w)
		}
	}
	return windows, func(w tmux.Made) bool {
		switch {
		case w.Viewed || !plain(w.Node) && !w.Monitor:
			return true
		case w.Monitor:
			return !w.Dead || w.Mark != root || o.hasRun(w.Session)
		case w.Run == run.OrganizationID:
			_, broken := o.Broken[w.Node]
			return broken || w.Mark != sessionOwner(root) || o.Agents[w.Node] != nil
		}
		if !plain(w.Run) || w.Mark != root {
			return true
		}
		_, err := os.Lstat(filepath.Join(run.Folder(root), "runs", w.Run))
		return !errors.Is(err, fs.ErrNotExist)
	}, nil
}

// plain reports whether a name of an option is one file's.
func plain(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.Contains(name, "/")
}

// hasRun reports whether a run of the project has a session of tmux, or may have it.
func (o *Org) hasRun(session string) bool {
	root := o.Run.Plan.Root
	ids, err := run.List(root)
	return err != nil || slices.ContainsFunc(ids, func(id string) bool {
		r, err := run.Open(root, id)
		return err != nil || r.Plan.TmuxSession() == session
	})
}

// CloseWindow closes a window that Windows named, when its last screen is in the archives.
// It returns the folder where that is.
func (o *Org) CloseWindow(ctx context.Context, server *tmux.Server, w tmux.Made, now time.Time) (kept string, err error) {
	text, err := server.Capture(ctx, w.ID, 2000)
	if err != nil {
		return "", err
	}
	kept = filepath.Join(o.folder(archives), cmp.Or(w.Node, monitor.Window), run.NewID(now))
	if err := signals.MkdirAll(kept, 0o700); err != nil {
		return "", err
	}
	if err := signals.WriteFile(filepath.Join(kept, screenFile), []byte(text+"\n"), 0o600); err != nil {
		return "", err
	}
	return kept, server.ClosePane(ctx, w.ID)
}
