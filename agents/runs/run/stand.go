package run

import "os"

// Stand returns the worktree whose files the run's nodes without a worktree see: the
// one that start was called in, or the main one after that one is removed.
func (p *Plan) Stand() string {
	if p.From != "" {
		if info, err := os.Stat(p.From); err == nil && info.IsDir() {
			return p.From
		}
	}
	return p.Root
}
