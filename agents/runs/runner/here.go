package runner

import (
	"bytes"
	"context"
	"path/filepath"

	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
)

// here looks at the worktree that the person stands in, beside its caller. stands waits for what it
// finds; leave, which is to be called, has it end and waits for that.
func (l *Launch) here(ctx context.Context) (stands func() (worktree.Dirt, git.Base, error), leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	var (
		dirt worktree.Dirt
		base git.Base
		err  error
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		dirt, base, err = l.repo.Here(ctx, l.Options.From)
	}()
	stands = func() (worktree.Dirt, git.Base, error) {
		<-done
		return dirt, base, err
	}
	return stands, func() {
		cancel()
		<-done
	}
}

// writeSchema leaves the schema of configurations where editors find it.
func writeSchema(root string) error {
	path, schema := filepath.Join(root, dag.SchemaPath), dag.Schema()
	if is, err := signals.ReadFile(path, int64(len(schema))); err == nil && bytes.Equal(is, schema) {
		return nil // of an earlier start
	}
	return signals.WriteFile(path, schema, 0o644)
}
