package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/far"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// Refs of a bundle from home, and refFar of the bundle for home, which has no other but
// snapshots.
const (
	refFar       = "refs/cmux/far/"
	refStart     = refFar + "start"
	refBase      = refFar + "base"
	refBranch    = refFar + "branch"
	refSnapshots = "refs/cmux/snapshots/"
)

const (
	// maxCode bounds the code that an attempt sends home. Half of it may be unfinished work.
	maxCode = far.MaxWhole
	// maxHas bounds the commits that a claim names.
	maxHas = 200
	// fetchWait bounds a fetch from the project's remote.
	fetchWait = 2 * time.Minute
)

// mirror is the bare clone of a project. The caller holds the project's lock.
type mirror struct{ dir string }

// make creates the mirror if it is missing. Clones use its objects, so git must not
// remove any.
func (m mirror) make(ctx context.Context) error {
	if err := signals.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		return err
	}
	if t, err := signals.Type(filepath.Join(m.dir, "made")); err == nil && t.IsRegular() {
		return nil
	}
	if _, err := git.Run(ctx, filepath.Dir(m.dir), "init", "--quiet", "--bare", m.dir); err != nil {
		return err
	}
	for _, kv := range [][2]string{{"gc.auto", "0"}, {"gc.pruneExpire", "never"}, {"maintenance.auto", "false"}} {
		if _, err := git.Run(ctx, m.dir, "config", kv[0], kv[1]); err != nil {
			return err
		}
	}
	return signals.WriteFile(filepath.Join(m.dir, "made"), nil, 0o600)
}

// has returns commits of the mirror, the newest first.
func (m mirror) has(ctx context.Context) ([]string, error) {
	out, err := git.Run(ctx, m.dir, "for-each-ref", "--sort=-committerdate", "--format=%(objecttype) %(objectname)")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "commit "); ok && !slices.Contains(all, id) && len(all) < maxHas {
			all = append(all, id)
		}
	}
	return all, nil
}

// refs is where the mirror keeps the commits of an attempt.
func (m mirror) refs(ref far.Ref) string {
	return refFar + ref.Run + "/" + ref.Node + "/" + fmt.Sprint(ref.N) + "/"
}

// take adds a bundle of home. What the bundle builds on and the mirror lacks, it fetches
// from the project's remote.
func (m mirror) take(ctx context.Context, bundle string, ref far.Ref, remote, name string) error {
	fetch := func() error {
		_, err := git.Command{
			Dir: m.dir, Config: []string{"transfer.fsckObjects=true"},
			Args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", bundle, "+" + refFar + "*:" + m.refs(ref) + "*"},
		}.Run(ctx)
		return err
	}
	err := fetch()
	if err == nil || !lacks(err) {
		return err
	}
	why := "home knows no remote that it could fetch them from"
	if remote != "" {
		e := m.fetch(ctx, remote)
		if e == nil {
			if err = fetch(); err == nil || !lacks(err) {
				return err
			}
			why = remote + " has not got them"
		} else {
			why = e.Error()
		}
	}
	return hint.New(fmt.Errorf("the mirror of %s on %s lacks commits that the run builds on: %s", ref.Project, name, why), "push them to a remote that this machine can read")
}

// lacks reports whether a fetch from a bundle failed because commits are missing here.
func lacks(err error) bool {
	var ge *git.Error
	return errors.As(err, &ge) && strings.Contains(ge.Stderr, "prerequisite")
}

// fetch fetches the branches of a remote. Nobody is asked for anything.
func (m mirror) fetch(ctx context.Context, remote string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	if strings.HasPrefix(remote, "-") || strings.Contains(remote, "::") {
		return fmt.Errorf("%q is no URL to fetch from", remote)
	}
	c := git.Command{Dir: m.dir, Args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote, "+refs/heads/*:refs/remotes/origin/*"}}
	if os.Getenv("GIT_SSH_COMMAND") == "" {
		c.Env = []string{"GIT_SSH_COMMAND=ssh -o BatchMode=yes"}
	}
	_, err := c.Run(ctx)
	return err
}

// clone makes the repository of an attempt, which shares the mirror's objects, with the
// attempt's commits under refFar and the base checked out. It may be repeated.
func (m mirror) clone(ctx context.Context, to string, ref far.Ref, remote string) (*worktree.Repo, error) {
	if err := signals.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return nil, err
	}
	if _, err := git.Run(ctx, filepath.Dir(to), "init", "--quiet", to); err != nil {
		return nil, err
	}
	info := filepath.Join(to, ".git", "objects", "info")
	if err := signals.MkdirAll(info, 0o700); err != nil {
		return nil, err
	}
	if err := signals.WriteFile(filepath.Join(info, "alternates"), []byte(filepath.Join(m.dir, "objects")+"\n"), 0o600); err != nil {
		return nil, err
	}
	old, err := git.Run(ctx, to, "for-each-ref", "--format=%(refname)", refFar) // of an earlier attempt
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(old) {
		if _, err := git.Run(ctx, to, "update-ref", "-d", name); err != nil {
			return nil, err
		}
	}
	if _, err := git.Run(ctx, to, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", m.dir, "+"+m.refs(ref)+"*:"+refFar+"*"); err != nil {
		return nil, err
	}
	if _, err := git.Resolve(ctx, to, "HEAD"); err == nil {
		return worktree.Open(ctx, to)
	}
	at := refBase
	if _, err := git.Resolve(ctx, to, at); errors.Is(err, git.ErrBadRef) {
		at = refStart
	}
	if _, err := git.Run(ctx, to, "checkout", "--quiet", "--detach", at); err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, to)
	if err != nil {
		return nil, err
	}
	return repo, submodules(ctx, to, remote)
}

// submodules fetches what the base has of them, from where the project's remote and
// .gitmodules say.
func submodules(ctx context.Context, root, remote string) error {
	if remote != "" {
		if _, err := git.Run(ctx, root, "config", "remote.origin.url", remote); err != nil {
			return err
		}
	}
	if _, err := signals.Type(filepath.Join(root, ".gitmodules")); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	if _, err := git.Run(ctx, root, "submodule", "--quiet", "update", "--init", "--recursive"); err != nil {
		return fmt.Errorf("the project's submodules: %w", err)
	}
	return nil
}

// pack writes the work of an attempt as a thin bundle to path: the tip of its branch, and
// snapshots. It returns the bundle and its size, 0: there is no work. One of more than most
// bytes is not read.
func pack(ctx context.Context, repo *worktree.Repo, branch, path string, most int64) (code []byte, size int64, err error) {
	start, err := repo.Resolve(ctx, refStart)
	if err != nil && !errors.Is(err, git.ErrBadRef) {
		return nil, 0, err
	}
	out, err := git.Run(ctx, repo.Root, "for-each-ref", "--format=%(refname)", refSnapshots)
	if err != nil {
		return nil, 0, err
	}
	refs := strings.Fields(out)
	if branch != "" {
		tip, err := repo.Tip(ctx, branch)
		if err != nil && !errors.Is(err, git.ErrBadRef) {
			return nil, 0, err
		}
		if err == nil && tip != start {
			if _, err := git.Run(ctx, repo.Root, "update-ref", refBranch, tip); err != nil {
				return nil, 0, err
			}
			refs = append(refs, refBranch)
		}
	}
	if len(refs) == 0 {
		return nil, 0, nil
	}
	args := append([]string{"bundle", "create", "--quiet", path}, refs...)
	if start != "" {
		args = append(args, "^"+start)
	}
	if _, err := git.Run(ctx, repo.Root, args...); err != nil {
		return nil, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if info.Size() <= most {
		code, err = signals.ReadFile(path, most)
	}
	return code, info.Size(), errors.Join(err, signals.RemoveFile(path))
}
