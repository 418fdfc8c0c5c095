package attempt

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/platform/endpoint"
	"cmux/agents/platform/fence"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// conceal sets what the node's programs find empty: what lets its reader act as the person,
// the folders of other agents, the sockets of servers that run what they are told, and what
// the configuration names. If this system cannot hide anything, nothing is hidden, and note
// gets to know, unless the node requires it: that is an error.
func (f *fencing) conceal(spec *run.Spec, paths run.Paths, get func(string) string, note func(string, ...any)) error {
	named := fence.Named(spec.Def.Fence.Hide, get)
	if _, err := fence.Hides(); run.NoSpace(err) {
		return err // it could not be tried: what can be hidden must be
	} else if err != nil {
		if spec.Def.Fence.Mode == dag.FenceRequire && len(named) > 0 {
			return fmt.Errorf("require: %w", err)
		}
		note("fence: %v. cmux's key, tmux servers and what hide names can be reached", err)
		return nil
	}
	root := spec.Frame.Root
	if err := endpoint.EnsureSecrets(root); err != nil { // what is made later is not hidden
		return err
	}
	f.copies = fence.Copies(get)
	f.hide, f.show = fence.Doors(get)
	f.hide = append(f.hide, named...)
	f.hide = append(f.hide, endpoint.Secrets(root)...)
	rooms := filepath.Join(root, signals.Folder, "rooms")
	if err := signals.MkdirAll(rooms, 0o700); err != nil {
		return err
	}
	f.hide = append(f.hide, rooms, run.OrganizationDir(root), filepath.Join(get("HOME"), ".local/state/cmux"), filepath.Join(get("XDG_STATE_HOME"), "cmux"))
	if dir, err := run.KeyFolder(); err == nil {
		f.hide = append(f.hide, dir)
	}
	// What the configuration names may hold all of the project, or what it borrows from.
	f.show = append(f.show, filepath.Join(root, signals.Folder), filepath.Dir(paths.Binary()))
	if common, err := commonOf(root); err == nil {
		f.show = append(f.show, common)
		f.show = append(f.show, borrowed(filepath.Join(common, "objects"))...)
	}
	if spec.Member != nil {
		f.show = append(f.show, paths.NodeDir(spec.Node))
	}
	return nil
}

// maxBorrowed bounds how long the list of repositories is that one borrows from.
const maxBorrowed = 64 << 10

// borrowed returns the folders of objects that a repository borrows from, with those that
// these borrow from.
func borrowed(objects string) (all []string) {
	for next := []string{objects}; len(next) > 0 && len(all) < 100; next = next[1:] {
		b, err := signals.ReadFile(filepath.Join(next[0], "info/alternates"), maxBorrowed)
		if err != nil {
			continue // it borrows nothing, as nearly all
		}
		for line := range strings.Lines(string(b)) {
			dir := strings.TrimSpace(line)
			if dir == "" || strings.HasPrefix(dir, "#") {
				continue
			}
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(next[0], dir)
			}
			if !slices.Contains(all, dir) {
				all, next = append(all, dir), append(next, dir)
			}
		}
	}
	return all
}
