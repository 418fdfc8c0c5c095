package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/run"
	"cmux/signals"
	"cmux/worktree"
)

func newSharedCmd(d *Deps) *cobra.Command {
	var (
		restore, accept, asJSON bool
		from                    string
	)
	cmd := &cobra.Command{
		Use:   "shared",
		Short: "Show what has changed of what all worktrees share, and put it back",
		Long: `Show what has changed, since the newest run began, of what all worktrees of the
repository share: git's settings, hooks, info/ and replace objects. Nothing is
pushed, and no worktree is lent or merged, over a change that decides which
programs git runs or where it pushes.

--restore puts everything back as it was; what is there now is kept in a file,
which --restore --from FILE brings back. --accept takes it as it is. With --json
the shape is [{"what", "old", "new", "undo"}].`,
		Example: "  cmux agents shared\n  cmux agents shared --restore",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if from != "" && !restore {
				return usage("cmux agents shared --restore --from "+from, "--from names what --restore brings back")
			}
			r, err := d.latest(ctx)
			if err != nil {
				return err
			}
			repo, err := worktree.Open(ctx, r.Plan.Root)
			if err != nil {
				return err
			}
			if accept {
				now, err := repo.Shared(ctx, repo.Root, false)
				if err != nil {
					return err
				}
				if err := r.WriteShared(now); err != nil {
					return err
				}
				_, err = fmt.Fprintln(d.Out, "Taken as it is.")
				return err
			}
			base, changes, err := r.Drift(ctx, repo)
			if from != "" {
				base, changes, err = sharedSince(ctx, repo, d.caller().Abs(from))
			}
			if err != nil {
				return err
			}
			if restore {
				return d.restoreShared(ctx, r, repo, base, changes)
			}
			return d.showShared(r, changes, asJSON)
		},
	}
	cmd.Flags().BoolVar(&restore, "restore", false, "put it back as it was when the run began")
	cmd.Flags().BoolVar(&accept, "accept", false, "take it as it is")
	cmd.Flags().StringVar(&from, "from", "", "what to put back: a file that an earlier --restore named")
	cmd.MarkFlagsMutuallyExclusive("restore", "accept")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// sharedSince compares with a state that restoreShared kept.
func sharedSince(ctx context.Context, repo *worktree.Repo, file string) (*worktree.Shared, []worktree.Change, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	base := new(worktree.Shared)
	if err := json.Unmarshal(b, base); err != nil {
		return nil, nil, fmt.Errorf("%s is not what cmux agents shared kept: %w", file, err)
	}
	now, err := repo.Shared(ctx, repo.Root, false)
	if err != nil {
		return nil, nil, err
	}
	return base, base.Compare(now), nil
}

func (d *Deps) showShared(r *run.Run, changes []worktree.Change, asJSON bool) error {
	type line struct {
		What string `json:"what"`
		Old  string `json:"old"`
		New  string `json:"new"`
		Undo string `json:"undo"`
	}
	if asJSON {
		lines := make([]line, len(changes))
		for i, c := range changes {
			lines[i] = line{c.What(), c.Old, c.New, c.Undo}
		}
		return printJSON(d.Out, lines)
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintf(d.Out, "Nothing has changed since run %s began.\n", r.Plan.ID)
		return err
	}
	for _, c := range changes {
		fmt.Fprintln(d.Out, c)
	}
	_, err := fmt.Fprintln(d.Err, "Put it back with: cmux agents shared --restore; take it as it is with: cmux agents shared --accept")
	return err
}

func (d *Deps) restoreShared(ctx context.Context, r *run.Run, repo *worktree.Repo, base *worktree.Shared, changes []worktree.Change) error {
	if len(changes) == 0 {
		_, err := fmt.Fprintln(d.Out, "There is nothing to put back.")
		return err
	}
	now, err := repo.Shared(ctx, repo.Root, false)
	if err != nil {
		return err
	}
	b, err := json.Marshal(now)
	if err != nil {
		return err
	}
	kept := filepath.Join(r.Dir, "shared-"+d.Now().UTC().Format("20060102T150405.000Z")+".json")
	if err := signals.WriteFile(kept, b, 0o600); err != nil {
		return err
	}
	left, err := repo.RestoreShared(ctx, base, changes)
	if err != nil {
		return err
	}
	stays := make(map[string]bool, len(left))
	var errs []error
	for _, c := range left {
		stays[c.What()] = true
		errs = append(errs, fmt.Errorf("%s could not be put back: %s", c.What(), c.New))
	}
	for _, c := range changes {
		if !stays[c.What()] {
			fmt.Fprintf(d.Out, "Put back %s: %s\n", c.What(), orNone(c.Old))
		}
	}
	fmt.Fprintf(d.Out, "What was there is kept: cmux agents shared --restore --from %s\n", kept)
	return errors.Join(errs...)
}

func orNone(v string) string {
	if v == "" {
		return "none"
	}
	return v
}

// asRecorded has cmux's own git read the settings as they were when the run
// began, as far as they name programs. Where that is not known they hold.
func (d *Deps) asRecorded(ctx context.Context, r *run.Run, repo *worktree.Repo) context.Context {
	_, changes, err := r.Drift(ctx, repo)
	if err != nil {
		fmt.Fprintf(d.Err, "cmux: warning: %v\n", err)
	}
	settings := worktree.As(changes)
	if len(settings) > 0 {
		names := make([]string, 0, len(settings))
		for _, s := range settings {
			key, _, _ := strings.Cut(s, "=")
			names = append(names, key)
		}
		fmt.Fprintf(d.Err, "cmux: warning: changed since the run began and not used: %s (cmux agents shared)\n", strings.Join(names, ", "))
	}
	return worktree.WithConfig(ctx, settings...)
}
