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
		wanted["refs/heads/"+b] = true
	}
	out, err := git(ctx, r.Root, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return nil, fmt.Errorf("listing branches: %w", err)
	}
	ahead := make(map[string]int)
	for ref := range strings.Lines(out) {
		ref = strings.TrimSuffix(ref, "\n")
		if !wanted[ref] {
			continue
		}
		out, err := git(ctx, r.Root, "rev-list", "--count", ref, "^"+base, "--")
		if err != nil {
			return nil, fmt.Errorf("comparing %s with the base: %w", ref, err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(out))
		if err != nil {
			return nil, fmt.Errorf("comparing %s with the base: %w", ref, err)
		}
		ahead[strings.TrimPrefix(ref, "refs/heads/")] = n
	}
	return ahead, nil
}
