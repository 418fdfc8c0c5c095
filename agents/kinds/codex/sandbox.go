package codex

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
)

// sandbox is what the node may do, as Codex gets it.
type sandbox struct {
	approval string
	mode     string
	policy   object
}

// sandboxOf returns what the node may do. The kernel allows no mounts in a fence of cmux, and
// Codex's sandbox mounts: there the fence takes its place.
func sandboxOf(s *agent.Stage) sandbox {
	own := sandboxBeside(s)
	if s.Confine == nil || s.AutoAccept && !s.Review {
		return own
	}
	return sandbox{own.approval, "danger-full-access", object{"type": "externalSandbox", "networkAccess": "enabled"}}
}

// sandboxBeside returns what the node may do where no fence is around Codex.
func sandboxBeside(s *agent.Stage) sandbox {
	switch {
	case s.Review && s.AutoAccept:
		// Nothing is asked, and nothing can be written.
		return sandbox{"never", "read-only", object{"type": "readOnly", "networkAccess": true}}
	case s.Review && s.Automatic:
		return sandbox{"never", "read-only", object{"type": "readOnly", "networkAccess": true}}
	case s.Review:
		return sandbox{"on-request", "read-only", object{"type": "readOnly", "networkAccess": true}}
	case s.AutoAccept:
		return sandbox{"untrusted", "danger-full-access", object{"type": "dangerFullAccess"}}
	}
	approval := "on-request"
	if s.Automatic {
		approval = "never" // what its sandbox keeps from it fails
	}
	return sandbox{approval, "workspace-write", object{
		"type": "workspaceWrite", "writableRoots": committing(or(s.Tree, s.Dir)), "networkAccess": true,
		"excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
	}}
}

// shared is the folder for temporary files in which every sandbox has mount points,
// wherever its register is.
const shared = "/tmp"

// tempFolders are those for temporary files in which programs with this environment may
// write.
func tempFolders(env []string) []string {
	dirs := []string{shared}
	for _, e := range env {
		if dir, ok := strings.CutPrefix(e, "TMPDIR="); ok && filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// clearTemp removes what a killed sandbox left in the folders for temporary files. An
// empty folder in one of them may be what another node's sandbox is about to mount on.
func clearTemp(dirs []string) {
	free := make([]bool, len(dirs))
	for i, dir := range dirs {
		free[i] = true
		register, _ := filepath.Glob(filepath.Join(dir, "codex-bwrap-synthetic-mount-targets-*"))
		for _, r := range register {
			lock, err := os.Open(filepath.Join(r, "lock")) // Codex holds it to write into the register
			if err != nil {
				continue
			}
			defer lock.Close()
			if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || inUse(r) {
				free[i] = false
			}
		}
	}
	for i, dir := range dirs {
		// Every sandbox is registered in its own folder, and has mount points in the shared one.
		if !free[i] || dir == shared && codexRuns("/proc") {
			continue
		}
		for _, name := range []string{".git", ".agents", ".codex"} {
			syscall.Rmdir(filepath.Join(dir, name)) // one that is not empty stays
		}
	}
}

// codexRuns reports whether a process in proc is Codex or a sandbox; true where there is
// no proc to tell.
func codexRuns(proc string) bool {
	names, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "comm"))
	for _, file := range names {
		name, _ := os.ReadFile(file) // gone since: no name
		if strings.HasPrefix(string(name), "codex") || string(name) == "bwrap\n" {
			return true
		}
	}
	return len(names) == 0
}

// inUse reports whether a sandbox that is registered runs: a file REGISTER/FOLDER/PID.
func inUse(register string) bool {
	files, _ := filepath.Glob(filepath.Join(register, "*", "*"))
	for _, file := range files {
		if pid, err := strconv.Atoi(filepath.Base(file)); err == nil && !proc.Dying(pid) {
			return true
		}
	}
	return false
}
