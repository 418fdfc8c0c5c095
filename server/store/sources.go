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

	"cmux/agents/task"
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
	incidents  = "incidents.jsonl"
	audit      = "audit.log"
)

// survey is what there is to take in, and to watch.
type survey struct {
	sources []source
	dirs    []string // from .cmux, in which sources appear
}

// find lists the sources below .cmux. A folder that goes away meanwhile has none.
func find(dir string) (*survey, error) {
	s := &survey{dirs: []string{"."}}
	top, err := names(dir, false)
	if err != nil {
		return nil, err
	}
	for _, name := range rotated(top) {
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
		s.dirs = append(s.dirs, agents+"/"+name)
		s.sources = append(s.sources, source{agents + "/" + name + "/" + eventsFile, "agent:" + name, events})
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
	{incidents, Incidents, incident},
	{audit, Audit, calls},
}

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

// rotated are names of files so that those that were set aside come first, the
// oldest at the beginning: of mailbox.000001 that is the lowest number, of
// audit.log.1 the highest.
func rotated(names []string) []string {
	age := func(name string) int {
		i := strings.LastIndexByte(name, '.')
		n := number(name[i+1:])
		if strings.HasPrefix(name, audit) {
			n = -n
		} else if n == 0 {
			n = 1 << 30
		}
		return n
	}
	slices.SortStableFunc(names, func(x, y string) int { return age(x) - age(y) })
	return names
}
