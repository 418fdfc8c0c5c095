package separate

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"cmux/worktree/git"
)

// What git rebase may still have to do after it was taken over: a person continues it,
// without a fence. Commands to execute, and refs to move, are not taken over.
var (
	rebaseWords      = strings.Fields("p pick r reword e edit s squash f fixup d drop b break l label t reset m merge noop")
	rebaseStrategies = strings.Fields("ort recursive resolve octopus ours subtree")
)

// disarm leaves nothing in the unended rebase of a private directory that executes what the
// worktree's programs chose.
func disarm(private string) error {
	dir := filepath.Join(private, "rebase-merge")
	todo := filepath.Join(dir, "git-rebase-todo")
	b, err := read(todo)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if kept := harmless(b); !bytes.Equal(kept, b) {
		if err := git.WriteFile(todo, kept); err != nil {
			return err
		}
	}
	strategy, err := read(filepath.Join(dir, "strategy"))
	if err == nil && !slices.Contains(rebaseStrategies, strings.TrimSpace(string(strategy))) {
		err = remove(filepath.Join(dir, "strategy"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, remove(filepath.Join(dir, "update-refs")))
}

// harmless returns the lines of a rebase's list that neither execute a command nor move
// refs.
func harmless(todo []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(todo) {
		word, _, _ := strings.Cut(strings.TrimLeft(string(line), " \t"), " ")
		word, _, _ = strings.Cut(word, "\t")
		word = strings.TrimSpace(word)
		if word == "" || word[0] == '#' || slices.Contains(rebaseWords, word) {
			kept = append(kept, line...)
		}
	}
	return kept
}
