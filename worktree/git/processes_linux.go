package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ProcessesIn describes the processes, other than this one, whose working
// directory is path or below it.
func ProcessesIn(path string) ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var users []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cwd, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if err != nil || cwd != path && !strings.HasPrefix(cwd, path+"/") {
			continue // ended since, another user's, or elsewhere
		}
		comm, err := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
		if err != nil {
			continue
		}
		users = append(users, fmt.Sprintf("%s (pid %d)", strings.TrimSpace(string(comm)), pid))
	}
	return users, nil
}

// lockHolders describes the processes that have the file open and the gits that
// are at work in one of the trees.
func lockHolders(file string, trees []string) ([]string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var users []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		b, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue
		}
		comm := strings.TrimSpace(string(b))
		holds := false
		if cwd, err := os.Readlink(filepath.Join(dir, "cwd")); err == nil && (comm == "git" || strings.HasPrefix(comm, "git-")) {
			holds = slices.ContainsFunc(trees, func(tree string) bool { return cwd == tree || strings.HasPrefix(cwd, tree+"/") })
		}
		fds, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			fds = nil // another user's
		}
		for _, fd := range fds {
			if name, err := os.Readlink(filepath.Join(dir, "fd", fd.Name())); err == nil && name == file {
				holds = true
			}
		}
		if holds {
			users = append(users, fmt.Sprintf("%s (pid %d)", comm, pid))
		}
	}
	return users, nil
}
