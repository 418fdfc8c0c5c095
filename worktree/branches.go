package worktree

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Ahead says of each of the branches, which exist, how many commits it has that
// base has not.
func (r *Repo) Ahead(ctx context.Context, base string, branches []string) (map[string]int, error) {
	ahead := make(map[string]int, len(branches))
	for _, b := range branches {
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

// InTheWay is the first of the branches because of which git cannot make one of that
// name: each of the two names would be a folder in which the other is; empty: none.
func InTheWay(branch string, branches []string) string {
	for _, b := range branches {
		if strings.HasPrefix(b, branch+"/") || strings.HasPrefix(branch, b+"/") {
			return b
		}
	}
	return ""
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
