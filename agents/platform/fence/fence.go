package fence

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Fence is what a program may write, and what it does not find: absolute paths, each a
// file or a folder with all that is in it. Those that do not exist are passed over when the
// program starts.
type Fence struct {
	Write []string

	// Hide are places that the program finds empty: Hides says whether this system can do
	// that. What it may write in them stays, and what Show names.
	Hide, Show []string

	// Copies are files that the program finds as copies of its own, where places can be hidden:
	// it may write them, and nobody else sees that.
	Copies []string

	plain []string // folders below which the program follows no link: see Plain
}

// shown returns what stays in the places of Hide.
func (f *Fence) shown() []string {
	var all []string
	for _, path := range slices.Concat(f.Show, f.Write) {
		path = filepath.Clean(path)
		if !slices.Contains(f.Hide, path) && slices.ContainsFunc(f.Hide, func(h string) bool { return within(path, h) }) {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ErrMissing means that this system cannot put up a fence; the text says why.
var ErrMissing = errors.New("no fence on this system")

// ErrShown means that this system cannot hide places; the text says why.
var ErrShown = errors.New("nothing can be hidden on this system")

// missing is an ErrMissing.
func missing(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMissing}, args...)...)
}

// Without returns places, all absolute, so that none holds one of kept: a place that does
// is replaced by what else is in it, at every level down to kept. Links are passed over:
// where they lead decides. list returns the names in a folder.
func Without(places, kept []string, list func(dir string) ([]string, error)) ([]string, error) {
	var all []string
	for _, place := range places {
		parts, err := without(filepath.Clean(place), kept, list)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func without(place string, kept []string, list func(dir string) ([]string, error)) ([]string, error) {
	if slices.ContainsFunc(kept, func(k string) bool { return within(place, k) }) {
		return nil, nil
	}
	if !slices.ContainsFunc(kept, func(k string) bool { return within(k, place) }) {
		return []string{place}, nil
	}
	names, err := list(place)
	if errors.Is(err, syscall.ENOTDIR) {
		return []string{place}, nil // a file, in which nothing lies
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range names {
		parts, err := without(filepath.Join(place, name), kept, list)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

// within reports whether a clean path is place or lies in it.
func within(path, place string) bool {
	return path == place || strings.HasPrefix(path, strings.TrimSuffix(place, "/")+"/")
}

// Named returns paths of a configuration, in which "~/" is the home folder of an environment.
func Named(written []string, env func(name string) string) (all []string) {
	for _, path := range written {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(env("HOME"), rest)
		}
		all = append(all, path)
	}
	return all
}

// List returns the names of what is in a folder except links. A folder that does not exist
// has none.
func List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
