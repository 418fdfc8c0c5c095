package standing

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Roles of standing agents.
const (
	Supervisor        = "supervisor"
	ProjectSupervisor = "project-supervisor"
	Worker            = "worker"
	PermanentWorker   = "permanent-worker"
	Clone             = "clone"
	Sentry            = "sentry"
	RoomMember        = "member" // of a room
)

// addresses are names that mean somebody else wherever an agent is named.
var addresses = []string{"monitor", "user", "all", "node"}

// folders are names that the organization's own folder uses, see run.Paths.
var folders = []string{"requests", "bin", "env", "tmux", "outputs", "refused", "archives", "roles", "lock"}

const maxName = 100

func namePattern() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`) }

// ErrName says that an agent cannot have a name.
var ErrName = errors.New("not a name for an agent")

// CheckName says whether an agent of a role may have a name. It does not know
// which names are taken.
func CheckName(name, role string) error {
	refuse := func(why string) error { return fmt.Errorf("%w: %q: %s", ErrName, name, why) }
	lower := strings.ToLower(name)
	switch {
	case !namePattern().MatchString(name):
		return refuse("use letters, digits, dot, _ and -, and begin with a letter or a digit")
	case len(name) > maxName:
		return refuse(fmt.Sprintf("more than %d characters", maxName))
	case slices.Contains(addresses, lower):
		return refuse("it is an address of the mailbox")
	case slices.Contains(folders, lower), hasSuffix(lower, ".json", ".jsonl", ".log", ".yml", ".lock", ".conf"):
		return refuse("cmux has a file or a folder of that name")
	case (lower == Supervisor) != (role == Supervisor):
		return refuse("supervisor is the name of the supervisor, and of nobody else")
	case (lower == Sentry) != (role == Sentry):
		return refuse("sentry is the name of the sentry, and of nobody else")
	case strings.HasPrefix(lower, "sup-") != (role == ProjectSupervisor):
		return refuse("names that begin with sup- are those of the supervisors of projects")
	case strings.HasPrefix(lower, "perm-") && role != PermanentWorker && role != Clone:
		return refuse("names that begin with perm- are those of permanent workers")
	}
	return nil
}

func hasSuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(x string) bool { return strings.HasSuffix(s, x) })
}

const idLetters = "abcdefghijklmnopqrstuvwxyz0123456789"

// NewID makes the id of an agent: ag_ and 8 letters or digits, one that taken
// does not know.
func NewID(taken func(id string) bool) string {
	for {
		var b [8]byte
		rand.Read(b[:])
		for i := range b {
			b[i] = idLetters[int(b[i])%len(idLetters)]
		}
		if id := "ag_" + string(b[:]); !taken(id) {
			return id
		}
	}
}
