package tmux

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmux/agents/platform/proc"
)

// hiddenName returns a name for the session of this process's control client. It contains
// the start time of the process, so that a client that outlives it can be recognized.
func hiddenName() (string, error) {
	self, err := proc.Self()
	if err != nil {
		return "", err
	}
	return hiddenPrefix + strconv.FormatUint(self.Start, 36) + "-" + strings.ToLower(rand.Text()[:12]), nil
}

// startedBy returns, from the command line of a control client of this server, when the
// process that started it had started.
func (s Server) startedBy(args []string, getenv func(string) string) (start uint64, ok bool) {
	at := slices.Index(args, "-C")
	if at < 2 || filepath.Base(args[0]) != "tmux" || len(args) < at+4 || args[at+1] != "new-session" || args[at+2] != "-s" {
		return 0, false
	}
	name, ok := strings.CutPrefix(args[at+3], hiddenPrefix)
	flags := s.flags()
	i := slices.Index(args[:at], flags[0])
	if !ok || i < 0 || args[i+1] != flags[1] || getenv(socketsVar) != proc.Getenv(s.env(), socketsVar) {
		return 0, false // not cmux's, or of another server
	}
	if recorded, _, dated := strings.Cut(name, "-"); dated {
		start, _ = strconv.ParseUint(recorded, 36, 64)
	}
	return start, true
}

// socketsVar is the variable with the folder of sockets that have only a name.
const socketsVar = "TMUX_TMPDIR"

// sockets returns the folders in which tmux keeps sockets, the default one last. Agents
// behind a fence do not see them.
func (s Server) sockets() (folders []string) {
	for _, dir := range []string{proc.Getenv(s.env(), socketsVar), "/tmp"} {
		if real, err := filepath.EvalSymlinks(filepath.Join("/", dir)); err == nil && dir != "" {
			folders = append(folders, filepath.Join(real, "tmux-"+strconv.Itoa(os.Getuid())))
		}
	}
	return folders
}

// path returns the path of the server's socket, as tmux finds it.
func (s Server) path() string {
	if strings.Contains(s.Socket, "/") {
		return filepath.Join("/", s.Socket) // command runs tmux in the root directory
	}
	for _, folder := range s.sockets() {
		return filepath.Join(folder, s.Socket)
	}
	return ""
}

// Orphans returns the server's control clients whose process has gone. Nobody reads from or
// writes to them any more. If tmux cannot remove one because it still has output for it,
// the server cannot end, even when told to, and accepts no commands.
func (s Server) Orphans() ([]proc.Process, error) { return proc.Abandoned(s.startedBy) }

// endOrphans kills orphans before a new client connects.
func (s Server) endOrphans(ctx context.Context) error {
	orphans, err := s.Orphans()
	if err == nil {
		proc.Kill(ctx, orphans)
	}
	return err
}
