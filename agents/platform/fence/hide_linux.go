package fence

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"cmux/agents/platform/fence/stage"
)

// namespacesVar, for tests, is 0 where the kernel counts as one without namespaces.
const namespacesVar = "CMUX_NAMESPACES"

// self is the running binary, also after its file was replaced.
const self = "/proc/self/exe"

// powers reports whether the calling thread may mount without a user namespace.
func powers() bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&head, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// byStage changes cmd so that the stage starts it in namespaces of its own. ruleset may be
// nil.
func (f *Fence) byStage(cmd *exec.Cmd, ruleset *os.File) {
	hide, show := clean(f.Hide), f.shown()
	if table, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		mounts := parseMounts(table)
		for _, path := range hide {
			hide = append(hide, aliases(mounts, path)...)
		}
	}
	plan := stage.Plan{Hide: hide, Show: clean(show), Plain: clean(f.plain), Copies: clean(f.Copies), Powers: powers(), Terminals: slices.Contains(f.Write, stage.Terminals)}
	if !plan.Powers {
		plan.Own = sshFiles(os.Getuid())
	}
	if ruleset != nil {
		plan.Ruleset = strconv.Itoa(3 + len(cmd.ExtraFiles))
		cmd.ExtraFiles = append(slices.Clone(cmd.ExtraFiles), ruleset)
	}
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	cmd.Env = nil
	for _, kv := range env {
		if ours(kv) {
			plan.Env = append(plan.Env, kv)
		} else {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	if cmd.Env == nil {
		cmd.Env = []string{} // nil is the environment of this process
	}
	cmd.Args = plan.Words(cmd.Path, cmd.Args)
	cmd.Path = self
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	attr.Cloneflags |= syscall.CLONE_NEWNS
	if !plan.Powers {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = stage.Needed()
	}
	cmd.SysProcAttr = &attr
}

// Plain changes cmd so that it follows no link below folders, and restricts it in nothing
// else. What works there may put a link in the place of a folder in which cmd writes.
func Plain(cmd *exec.Cmd, folders ...string) error {
	(&Fence{plain: folders}).byStage(cmd, nil)
	return nil
}

// ours reports whether a variable of the program changes what the stage itself does: it is
// put back when that is done. A configuration may name code for a loader.
func ours(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "GLIBC_") || strings.HasPrefix(name, "MALLOC_") || strings.HasPrefix(name, "GO")
}

// clean returns places as the stage takes them: absolute, without links, each once. A place
// that does not exist is left out.
func clean(places []string) []string {
	var all []string
	for _, path := range places {
		if to, err := filepath.EvalSymlinks(path); err == nil && filepath.IsAbs(to) && to != "/" {
			all = append(all, to)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// mount is a line of mountinfo: the folder root of a file system, seen at a path.
type mount struct{ device, root, at string }

func parseMounts(table []byte) (all []mount) {
	for line := range bytes.Lines(table) {
		if f := strings.Fields(string(line)); len(f) > 4 {
			all = append(all, mount{f[2], unescape(f[3]), unescape(f[4])})
		}
	}
	return all
}

// unescape reads a path of mountinfo, in which spaces and the like are octal.
func unescape(s string) string {
	for _, c := range []string{" ", "\t", "\n"} {
		s = strings.ReplaceAll(s, fmt.Sprintf(`\%03o`, c[0]), c)
	}
	return strings.ReplaceAll(s, `\134`, `\`)
}

// aliases returns the other paths at which a place is seen, by bind mounts and by mounts
// of the file system's other folders.
func aliases(mounts []mount, path string) (all []string) {
	var of mount
	for _, m := range mounts { // the last one covers the others
		if within(path, m.at) && len(m.at) >= len(of.at) {
			of = m
		}
	}
	if of.at == "" {
		return nil
	}
	inside := filepath.Join(of.root, strings.TrimPrefix(path, strings.TrimSuffix(of.at, "/")))
	for _, m := range mounts {
		if m.device != of.device || !within(inside, m.root) {
			continue
		}
		alias := filepath.Join(m.at, strings.TrimPrefix(inside, strings.TrimSuffix(m.root, "/")))
		if alias != path && alias != "/" {
			all = append(all, alias)
		}
	}
	return all
}

// sshFiles returns the files that ssh's settings include and that belong to another user
// than uid: in a user namespace they belong to nobody, which ssh takes for an attack.
func sshFiles(uid int) []string {
	var all []string
	seen := map[string]bool{}
	var read func(pattern string, depth int)
	read = func(pattern string, depth int) {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			file = real(file)
			b, err := os.ReadFile(file)
			if seen[file] || err != nil || depth > 16 || len(b) > 1<<20 {
				continue
			}
			seen[file] = true
			var st unix.Stat_t
			if depth > 0 && unix.Stat(file, &st) == nil && int(st.Uid) != uid {
				all = append(all, file)
			}
			for line := range strings.Lines(string(b)) {
				words := strings.Fields(strings.Replace(line, "=", " ", 1))
				if len(words) < 2 || !strings.EqualFold(words[0], "include") {
					continue
				}
				for _, w := range words[1:] {
					if w = strings.Trim(w, `"`); !filepath.IsAbs(w) {
						w = filepath.Join("/etc/ssh", w)
					}
					read(w, depth+1)
				}
			}
		}
	}
	read("/etc/ssh/ssh_config", 0)
	return all
}

// Hides tries whether this system can hide places. It returns which way it has, for
// people, or ErrShown. It starts a process, so callers keep the answer.
func Hides() (string, error) {
	if _, err := Support(); err != nil {
		return "", fmt.Errorf("%w: %w", ErrShown, err)
	}
	if os.Getenv(namespacesVar) == "0" {
		return "", fmt.Errorf("%w: there are no namespaces", ErrShown)
	}
	dir, err := os.MkdirTemp("", "cmux-")
	if err != nil {
		return "", err
	}
	defer os.Remove(dir)
	cmd := &exec.Cmd{} // without a program, the stage ends when it is ready
	(&Fence{Hide: []string{dir}}).byStage(cmd, nil)
	said, err := cmd.CombinedOutput()
	if err != nil {
		why := strings.TrimPrefix(strings.TrimSpace(string(said)), "cmux: fence: ")
		if why == "" {
			why = err.Error()
		}
		return "", fmt.Errorf("%w: %s%s", ErrShown, why, wayOut(os.ReadFile))
	}
	if powers() {
		return "a mount namespace", nil
	}
	return "a user namespace", nil
}

// wayOut says which setting of the system keeps namespaces from being made, as far as it
// is known.
func wayOut(read func(name string) ([]byte, error)) string {
	for _, s := range []struct{ file, bad, text string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor restricts user namespaces here (Ubuntu 23.10 and newer). Allow them for cmux by a profile in /etc/apparmor.d " +
			"with the line userns, or for all programs: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1 allows them"},
		{"/proc/sys/user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=10000 allows them"},
		{"/proc/sys/user/max_mnt_namespaces", "0", "sudo sysctl user.max_mnt_namespaces=10000 allows them"},
	} {
		if b, err := read(s.file); err == nil && strings.TrimSpace(string(b)) == s.bad {
			return ". " + s.text
		}
	}
	return ". In a container, its own rules (seccomp, AppArmor) may forbid them"
}
