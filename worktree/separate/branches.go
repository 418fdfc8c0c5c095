package separate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"cmux/worktree/git"
)

// own returns the worktree's branch as a full name; empty: HEAD is detached.
func (t *taking) own(ctx context.Context) (string, error) {
	out, err := git.Command{Dir: t.Private, Env: []string{"GIT_DIR=" + t.Private}, Args: []string{"symbolic-ref", "-q", "HEAD"}}.Run(ctx)
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	return git.Line(out), err
}

// branches takes over the refs that changed.
func (t *taking) branches(ctx context.Context) error {
	own, err := t.own(ctx)
	if err != nil {
		return err
	}
	now, err := t.shared(ctx)
	if err != nil {
		return err
	}
	changed := maps.Clone(t.is)
	maps.DeleteFunc(changed, func(name, id string) bool {
		return t.was[name] == id || now[name] == id || name == "refs/stash"
	})
	ids := map[string]string{}
	for _, id := range changed {
		ids[id] = ""
	}
	types, err := t.existing(ctx, sorted(ids))
	if err != nil {
		return err
	}
	names := sorted(changed)
	rank := func(name string) int {
		switch {
		case name == own: // what it holds needs no other name
			return 0
		case !strings.HasPrefix(name, "refs/"):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for i, name := range names {
		id := changed[name]
		if i == maxRefs {
			return t.leaveAll(ctx, names[i:], changed, types)
		}
		switch kind := types[id]; {
		case kind != "" && !t.whole[id]:
			t.left = append(t.left, Left{Ref: name})
			continue
		case kind == "" || kind != "commit" && !strings.HasPrefix(name, "refs/tags/"):
			continue // git could not read it there either
		case !strings.HasPrefix(name, "refs/"):
			err = t.leave(ctx, name, id)
		case name == own && t.atWork:
			if theirs := now[name]; theirs != t.was[name] {
				err = t.leave(ctx, name, theirs) // somebody moved it meanwhile
			}
			if err == nil {
				err = t.update(ctx, name, id, now[name])
			}
			if err != nil && now[name] == "" { // it was deleted, and its name may be a folder now
				err = t.leave(ctx, name, id)
			}
		case t.was[name] == "" && now[name] == "" && t.means(ctx, name) == nil:
			if t.update(ctx, name, id, strings.Repeat("0", len(id))) != nil { // beside a folder of its name
				err = t.leave(ctx, name, id)
			}
		default:
			err = t.leave(ctx, name, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shared returns the refs of the shared repository.
func (t *taking) shared(ctx context.Context) (map[string]string, error) {
	c := t.in
	c.Args = []string{"for-each-ref", "--format=%(objectname) %(refname)"}
	out, err := c.Run(ctx)
	return parsePacked([]byte(out)), err
}

// means is an error where the short name of a ref means something else already: it would
// hide that, or be hidden by it. A ref of refs/replace stands for another object, in every
// command, one beside the folders of refs has no short name, and one that begins with - is an
// option. Others need some names themselves.
func (t *taking) means(ctx context.Context, name string) error {
	if strings.HasPrefix(name, "refs/cmux/") {
		return nil
	}
	c := t.in
	folder, short, in := strings.Cut(strings.TrimPrefix(name, "refs/"), "/")
	if slices.Contains(t.Others, name) {
		return fmt.Errorf("%s is to be another's", name)
	}
	if !in || folder == "replace" || strings.HasPrefix(short, "-") {
		return fmt.Errorf("%s is no name for others", name)
	}
	c.Args = []string{"rev-parse", "--verify", "--quiet", short}
	_, err := c.Run(ctx)
	switch {
	case err == nil:
		return fmt.Errorf("%s means something else", short)
	case git.ExitCode(err) == 1:
		return nil
	}
	return err
}

// update moves a ref of the shared repository.
func (t *taking) update(ctx context.Context, name, id, old string) error {
	c := t.in
	c.Args = []string{"update-ref", "--no-deref", "-m", "cmux: from " + filepath.Base(t.Tree), name, id, old}
	_, err := c.Run(ctx)
	return err
}

// leave keeps an object under a name of cmux, if nothing else holds it.
func (t *taking) leave(ctx context.Context, name, id string) error {
	c := t.in
	c.Args = []string{"rev-list", "--max-count=1", id, "--not", "--branches", "--tags", "--remotes"}
	if out, err := c.Run(ctx); err == nil && out == "" && !strings.HasPrefix(name, "refs/tags/") {
		return nil
	}
	// No name is a folder of another.
	flat := strings.ReplaceAll(strings.TrimPrefix(name, "refs/"), "/", ".")
	to := leftRefs + git.RefSafe(filepath.Base(t.Tree)) + "/" + id[:12] + "/" + git.RefSafe(flat)
	t.left = append(t.left, Left{Ref: name, Kept: to})
	c.Args = []string{"update-ref", "--no-deref", to, id} // it may be there from before
	_, err := c.Run(ctx)
	return err
}

// leaveAll keeps the objects of more refs than a repository should get, as parents of one
// commit that names them.
func (t *taking) leaveAll(ctx context.Context, names []string, ids, types map[string]string) error {
	c := t.in
	c.Args, c.Stdin = []string{"hash-object", "-t", "tree", "-w", "--stdin"}, []byte{}
	tree, err := c.Run(ctx)
	if err != nil {
		return err
	}
	var parents, list strings.Builder
	seen := map[string]bool{}
	for _, name := range names {
		id := ids[name]
		if types[id] != "commit" || !t.whole[id] {
			continue
		}
		if !seen[id] {
			fmt.Fprintf(&parents, "parent %s\n", id)
		}
		seen[id] = true
		fmt.Fprintf(&list, "%s %s\n", id, name)
	}
	const who = "cmux <cmux@localhost> 0 +0000"
	c.Args = []string{"hash-object", "-t", "commit", "-w", "--stdin"}
	c.Stdin = fmt.Appendf(nil, "tree %s\n%sauthor %s\ncommitter %s\n\n%s", git.Line(tree), parents.String(), who, who, list.String())
	id, err := c.Run(ctx)
	if err != nil || len(seen) == 0 {
		return err
	}
	return t.leave(ctx, "refs/many", git.Line(id))
}

// stash adds the entries of the stash to those of the shared repository.
func (t *taking) stash(ctx context.Context, log []byte) error {
	if t.is["refs/stash"] == "" {
		return nil
	}
	for line := range bytes.Lines(log) {
		head, text, _ := strings.Cut(string(bytes.TrimSpace(line)), "\t")
		ids := object.FindAllString(head, 2)
		if len(ids) != 2 {
			continue
		}
		there, err := t.existing(ctx, ids[1:])
		if err != nil {
			return err
		}
		if there[ids[1]] != "commit" {
			continue
		}
		c := t.in
		c.Args = []string{"stash", "store", "--quiet", "-m", text, ids[1]}
		if _, err := c.Run(ctx); err != nil {
			if err := t.leave(ctx, "refs/stash", ids[1]); err != nil {
				return err
			}
		}
	}
	return nil
}
