package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Glance is what a working tree shows at a moment.
type Glance struct {
	Branch    string // that is checked out; empty: none is
	Commit    string // empty: there is none yet
	Committed time.Time
	Staged    []string // paths, with what happened to them: `M a.go`
	Changed   []string // likewise, beside the index; `?? b.go` is not tracked
}

// GlanceAt looks at the working tree in dir, and changes nothing, not even the
// index.
func GlanceAt(ctx context.Context, dir string) (Glance, error) {
	var g Glance
	out, err := Run(ctx, dir, "--no-optional-locks", "status", "--porcelain=v1", "--branch", "-z")
	if err != nil {
		return g, err
	}
	entries := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if branch, ok := strings.CutPrefix(e, "## "); ok {
			branch = strings.TrimPrefix(branch, "No commits yet on ")
			branch, _, _ = strings.Cut(branch, "...")
			if branch != "HEAD (no branch)" {
				g.Branch = branch
			}
			continue
		}
		if len(e) < 4 {
			continue
		}
		if e[0] == 'R' || e[0] == 'C' {
			i++ // the name before it
		}
		switch {
		case e[:2] == "??":
			g.Changed = append(g.Changed, e)
			continue
		case e[0] != ' ':
			g.Staged = append(g.Staged, e[:1]+" "+e[3:])
		}
		if e[1] != ' ' {
			g.Changed = append(g.Changed, e[1:2]+" "+e[3:])
		}
	}
	if g.Commit, g.Committed, err = tip(ctx, dir); err != nil {
		return g, err
	}
	return g, nil
}

// tip is the commit that is checked out in dir, and when it was made; an empty
// one where there is none yet.
func tip(ctx context.Context, dir string) (commit string, at time.Time, err error) {
	if _, err := Run(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); ExitCode(err) == 1 {
		return "", time.Time{}, nil
	}
	out, err := Run(ctx, dir, "log", "-1", "--format=%H %ct")
	if err != nil {
		return "", time.Time{}, err
	}
	commit, when, _ := strings.Cut(Line(out), " ")
	seconds, err := strconv.ParseInt(when, 10, 64)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("git says %q of the newest commit: %w", out, err)
	}
	return commit, time.Unix(seconds, 0), nil
}

// CommittedAt is when the commit was made that is checked out in dir.
func CommittedAt(ctx context.Context, dir string) (time.Time, error) {
	_, at, err := tip(ctx, dir)
	return at, err
}
