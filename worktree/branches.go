package worktree

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Ahead says of each of the branches that exists how many commits it has that
// base has not.
func (r *Repo) Ahead(ctx context.Context, base string, branches []string) (map[string]int, error) {
	if len(branches) == 0 {
		return nil, nil
	}
	wanted := make(map[string]bool, len(branches))
	for _, b := range branches {
		wanted[b] = true
	}
	all, err := r.Branches(ctx)
	if err != nil {
		return nil, err
	}
	ahead := make(map[string]int)
	for _, b := range all {
		if !wanted[b] {
			continue
		}
		ref := "refs/heads/" + b
		out, err := git(ctx, r.Root, "rev-list", "--count", ref, "^"+base, "--")
		if err != nil {
			return nil, fmt.Errorf("comparing %s with the base: %w", ref, err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(out))
		if err != nil {
			return nil, fmt.Errorf("comparing %s with the base: %w", ref, err)
		}
		ahead[b] = n
	}
	return ahead, nil
}

// Branches are the names of the local branches, in order.
func (r *Repo) Branches(ctx context.Context) ([]string, error) {
	out, err := git(ctx, r.Root, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return nil, fmt.Errorf("listing branches: %w", err)
	}
	var all []string
	for ref := range strings.Lines(out) {
		all = append(all, strings.TrimPrefix(strings.TrimSuffix(ref, "\n"), "refs/heads/"))
	}
	return all, nil
}
