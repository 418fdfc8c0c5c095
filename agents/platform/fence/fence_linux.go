package fence

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"cmux/agents/platform/fence/stage"
)

// leastABI is the first version of Landlock that lets files be moved between folders and
// keeps them from being cut to nothing (Linux 6.2).
const leastABI = 3

// signalsABI is the first version that keeps signals inside the fence (Linux 6.12).
const signalsABI = 6

const (
	writes = ll.AccessFSWriteFile | ll.AccessFSTruncate
	makes  = ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeChar | ll.AccessFSMakeDir | ll.AccessFSMakeReg |
		ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeBlock | ll.AccessFSMakeSym | ll.AccessFSRefer
)

// mostVar, for tests, is a version of Landlock that the kernel counts as at most.
const mostVar = "CMUX_LANDLOCK"

// version returns the version of the kernel's Landlock.
func version() (int, error) {
	abi, err := ll.LandlockGetABIVersion()
	if most, bad := strconv.Atoi(os.Getenv(mostVar)); bad == nil && err == nil {
		if abi = min(abi, most); abi == 0 {
			err = unix.ENOSYS
		}
	}
	return abi, err
}

// Support returns which fence this system has, for people, or ErrMissing.
func Support() (string, error) {
	abi, err := version()
	switch {
	case err != nil:
		return "", missing("the kernel has no Landlock (%v). Linux 6.2 and newer have it, unless it is switched off", err)
	case abi < leastABI:
		return "", missing("the kernel's Landlock is too old (version %d, not %d): it takes Linux 6.2 or newer", abi, leastABI)
	case abi < signalsABI:
		return "Landlock, without the part that keeps signals in (Linux 6.12)", nil
	}
	return "Landlock", nil
}

// Confine puts the fence up around the calling thread, for good, and around what the
// thread starts from then on. The caller must have locked it, and let it end. If something
// is to be hidden, Confine changes cmd instead, so that the program starts by way of the
// stage: a thread in a fence cannot mount.
func (f *Fence) Confine(cmd *exec.Cmd) error {
	if _, err := Support(); err != nil {
		return err
	}
	hides, places := len(f.Hide) > 0, f.Write
	if hides { // the stage gives the program terminals of its own, with their rule
		places = slices.DeleteFunc(slices.Clone(places), func(p string) bool { return p == stage.Terminals })
	}
	fd, flags, err := ruleset(places, runsAs(cmd))
	if err != nil {
		return err
	}
	if hides {
		file := os.NewFile(uintptr(fd), "ruleset") // closed with cmd
		f.byStage(cmd, file)
		return nil
	}
	defer unix.Close(fd)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := stage.Shield(); err != nil {
		return err
	}
	return ll.LandlockRestrictSelf(fd, flags)
}

// runsAs returns the user that a program will run as.
func runsAs(cmd *exec.Cmd) int {
	if cmd != nil && cmd.SysProcAttr != nil && cmd.SysProcAttr.Credential != nil {
		return int(cmd.SysProcAttr.Credential.Uid)
	}
	return os.Getuid()
}

// ruleset returns Landlock's rules for a user's program that may write places.
func ruleset(places []string, uid int) (fd int, flags uint32, err error) {
	abi, _ := version()
	c := landlock.Config{HandledAccessFS: landlock.AccessFSSet(writes | makes)}
	if abi >= signalsABI {
		// Sockets without a file, such as some session buses, are scoped since the same version.
		c.Scoped = landlock.ScopedSet(ll.ScopeSignal | ll.ScopeAbstractUnixSocket)
	}
	var rules []landlock.Rule
	if uid != 0 {
		// Whoever makes a user namespace writes its maps there: browsers do, for a sandbox of
		// their own. What else is there asks whether a process may be traced, which the fence
		// prevents outside of it, or belongs to root.
		rules = append(rules, landlock.PathAccess(landlock.AccessFSSet(ll.AccessFSWriteFile), "/proc").IgnoreIfMissing())
	}
	for _, path := range places {
		place, dir, ok := pin(path)
		if !ok {
			continue // there is nothing that may be written
		}
		defer unix.Close(place)
		access := landlock.AccessFSSet(writes)
		if dir {
			access |= makes
		}
		rules = append(rules, landlock.PathAccess(access, "/proc/self/fd/"+strconv.Itoa(place)))
	}
	return c.NewRulesetFD(rules...)
}

// pin opens the file or folder at path itself, not what a link leads to: places come
// resolved, and a program in a fence may have replaced one by a link since.
func pin(path string) (fd int, dir, ok bool) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false, false
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if at, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && at == filepath.Clean(path) {
			return fd, st.Mode&unix.S_IFMT == unix.S_IFDIR, true
		}
	}
	unix.Close(fd)
	return 0, false, false
}
