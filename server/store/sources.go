package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"cmux/agents/org/task"
	"cmux/agents/records/incident"
	"cmux/agents/room/book"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// source is a file that events come from.
type source struct {
	path   string // from .cmux
	label  string
	format *format
}

// stamp tells one state of a file from another.
type stamp struct {
	inode uint64
	size  int64
	mtime int64
}

// look is the state of a file, without opening it.
func look(path string) (stamp, bool) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return stamp{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{uint64(st.Ino), info.Size(), info.ModTime().UnixNano()}, true
}

const (
	eventsFile = "events.jsonl"
	screenFile = "last-screen.txt"
	goneFile   = "removed.json"
	runs       = "runs"
	agents     = "agents"
	archives   = "archives"
	audit      = "audit.log"
)

// survey is what there is to take in, and to watch.
type survey struct {
	sources []source
	stamps  []stamp  // of the sources
	dirs    []string // from .cmux, in which sources appear
}

// only is a survey of the sources at some paths; ok is false when one of these is
// none.
func (s *survey) only(paths map[string]bool) (some *survey, ok bool) {
	some = new(survey)
	for i, src := range s.sources {
		if paths[src.path] {
			some.sources = append(some.sources, src)
			some.stamps = append(some.stamps, s.stamps[i])
		}
	}
	return some, len(some.sources) == len(paths)
}

// look looks at the sources as they are now.
func (s *survey) look(root string) {
	s.stamps = make([]stamp, len(s.sources))
	for i, src := range s.sources {
		s.stamps[i], _ = look(src.in(root))
	}
}

// in is where a source of the project at root lies.
func (src source) in(root string) string {
	return filepath.Join(root, signals.Folder, filepath.FromSlash(src.path))
}

// find lists the sources below .cmux. A folder that goes away meanwhile has none.
func find(dir string) (*survey, error) {
	s := &survey{dirs: []string{"."}}
	top, err := names(dir, false)
	if err != nil {
		return nil, err
	}
	for _, name := range top {
		for _, t := range tops {
			digits, aside := strings.CutPrefix(name, t.name+".")
			if name == t.name || aside && number(digits) > 0 {
				s.sources = append(s.sources, source{name, t.label, t.format})
			}
		}
	}
	if err := s.twice(dir, runs, func(path, id, node string) {
		s.sources = append(s.sources, source{path + "/" + eventsFile, "run:" + id + "/" + node, events})
	}); err != nil {
		return nil, err
	}
	s.dirs = append(s.dirs, agents)
	all, err := names(filepath.Join(dir, agents), true)
	for _, name := range all {
		if slices.Contains(others, name) {
			continue
		}
		s.sources = append(s.sources, source{agents + "/" + name + "/" + eventsFile, "agent:" + name, events})
	}
	if err != nil {
		return nil, err
	}
	s.dirs = append(s.dirs, book.Folder)
	all, err = names(filepath.Join(dir, book.Folder), true)
	for _, name := range all {
		if book.CheckName(name) == nil {
			s.sources = append(s.sources, source{book.Folder + "/" + name + "/" + book.File, Room + name, facts})
		}
	}
	if err != nil {
		return nil, err
	}
	return s, s.twice(dir, archives, func(path, name, _ string) {
		label := "agent:" + name
		s.sources = append(s.sources, source{path + "/" + eventsFile, label, events},
			source{path + "/" + screenFile, label, screens}, source{path + "/" + goneFile, label, removals})
	})
}

// tops are the sources that lie in .cmux itself, beside those of them that were
// set aside under a number.
var tops = []struct {
	name, label string
	format      *format
}{
	{mailbox.Name, Mailbox, messages},
	{mailbox.Deliveries, Mailbox, deliveries},
	{task.Name, Tasks, tasks},
	{incident.Name, Incidents, incidentLines},
	{audit, Audit, calls},
}

// others are folders in that of a run which are no nodes.
var others = []string{"requests", "bin", "env", "tmux", "outputs", "refused"}

// twice calls f for each folder in a folder of a folder.
func (s *survey) twice(dir, top string, f func(path, outer, inner string)) error {
	s.dirs = append(s.dirs, top)
	outer, err := names(filepath.Join(dir, top), true)
	if err != nil {
		return err
	}
	for _, o := range outer {
		s.dirs = append(s.dirs, top+"/"+o)
		inner, err := names(filepath.Join(dir, top, o), true)
		if err != nil {
			return err
		}
		for _, i := range inner {
			if slices.Contains(others, i) {
				continue
			}
			f(top+"/"+o+"/"+i, o, i)
		}
	}
	return nil
}

// names are those of the folders, or of the files, in a folder; none when it is
// not there, or is no folder that cmux would read.
func names(dir string, folders bool) (all []string, err error) {
	entries, err := signals.ReadDir(dir)
	var odd *signals.FileError
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.As(err, &odd) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() == folders {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

// number is that of a file that was set aside; 0: none.
func number(digits string) int {
	if n, err := strconv.Atoi(digits); err == nil && n > 0 && digits[0] != '+' {
		return n
	}
	return 0
}
