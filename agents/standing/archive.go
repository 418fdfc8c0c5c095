package standing

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cmux/agents/run"
	"cmux/signals"
)

const (
	archives    = "archives" // folder in .cmux of what agents leave behind
	screenFile  = "last-screen.txt"
	removalFile = "removed.json"
)

// removal says in an agent's archive how it came there: the deletion log.
type removal struct {
	Gone
	Member run.Member `json:"member"`
	By     string     `json:"by"`
	Force  bool       `json:"force,omitempty"`
	At     time.Time  `json:"at"`
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
