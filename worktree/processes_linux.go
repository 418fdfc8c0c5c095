package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processesIn describes the processes, other than this one, whose working
// directory is path or below it.
func processesIn(path string) ([]string, error) {
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
