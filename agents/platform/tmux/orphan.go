package tmux

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmux/agents/platform/proc"
)

// hiddenName is a name for the session of a control client of this process. It
// says when the process started, so that a client that outlives it is known.
func hiddenName() (string, error) {
	self, err := proc.Self()
	if err != nil {
		return "", err
	}
	return hiddenPrefix + strconv.FormatUint(self.Start, 36) + "-" + strings.ToLower(rand.Text()[:12]), nil
}

// startedBy says of the command line of a control client of this server when the
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
		return 0, false // nothing of cmux's, or of another server
	}
	if recorded, _, dated := strings.Cut(name, "-"); dated {
		start, _ = strconv.ParseUint(recorded, 36, 64)
	}
	return start, true
}

// socketsVar names the folder of the sockets that have only a name.
const socketsVar = "TMUX_TMPDIR"

// Orphans are control clients of the server whose process has gone. Nobody hears
// or tells them anything any more. One that tmux cannot get rid of, because it
// still has something for it, keeps its server from ending, also from ending
// when told to; the server then takes no commands.
func (s Server) Orphans() ([]proc.Process, error) { return proc.Abandoned(s.startedBy) }

// endOrphans makes way for a new client.
func (s Server) endOrphans(ctx context.Context) error {
	orphans, err := s.Orphans()
	if err == nil {
		proc.Kill(ctx, orphans)
	}
	return err
}
