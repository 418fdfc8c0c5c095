package fence

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/platform/proc"
)

// ordinary is a user, daemon, without files and processes to spare.
const ordinary = 1

// asOrdinary runs the test as an ordinary user too, in a process of its own.
func asOrdinary(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	t.Run("ordinary user", func(t *testing.T) {
		t.Parallel()
		name, _, _ := strings.Cut(t.Name(), "/")
		cmd := exec.Command(self, "-test.run=^"+name+"$", "-test.v")
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nowhere"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		} else if !bytes.Contains(out, []byte("--- PASS: "+name)) {
			t.Skipf("%s", out)
		}
	})
}

// hideout is a folder with secrets and a fence that hides them.
type hideout struct {
	*testing.T
	dir   string
	fence *Fence
	s     *proc.Spawner
}

const secret = "TOPSECRET"

func newHideout(t *testing.T) *hideout {
	t.Helper()
	if _, err := Hides(); err != nil {
		t.Skip(err)
	}
	s, err := proc.NewSpawner()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	dir, err := os.MkdirTemp("/tmp", "h") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, d := range []string{"in", "secret/deep", "run/shown", "run/other", "new"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"secret/key", "secret/deep/key", "netrc", "run/shown/x", "run/other/key"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"run/sock", "secret/sock", "own", "run/shown/sock"} {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Write([]byte(secret + "\n"))
				c.Close()
			}
		}()
	}
	at := func(names ...string) (all []string) {
		for _, n := range names {
			all = append(all, filepath.Join(dir, n))
		}
		return all
	}
	return &hideout{t, dir, &Fence{Write: append(at("in"), "/dev/null"), Hide: at("secret", "netrc", "run", "own", "gone"), Show: at("run/shown")}, s}
}

// run runs a program in the fence, or without one.
func (h *hideout) run(f *Fence, argv ...string) (string, int) {
	h.Helper()
	if _, err := exec.LookPath(argv[0]); err != nil {
		h.Skip(err)
	}
	return h.start(f, exec.Command(argv[0], argv[1:]...), nil)
}

// start is run of cmd, which reads from stdin.
func (h *hideout) start(f *Fence, cmd *exec.Cmd, stdin *os.File) (string, int) {
	h.Helper()
	if stdin != nil {
		cmd.Stdin = stdin
	}
	cmd.Dir = filepath.Join(h.dir, "in")
	cmd.Env = append(os.Environ(), "MARK=1", "OUT="+h.dir, "GODEBUG=", "LD_X=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	r, w, err := os.Pipe()
	if err != nil {
		h.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	confine := f.Confine
	if f == nil {
		confine = nil
	}
	p, err := h.s.Start(cmd, "MARK=1", confine)
	w.Close()
	if err != nil {
		h.Fatal(err)
	}
	var text bytes.Buffer
	text.ReadFrom(r)
	r.Close()
	<-p.Exited()
	return text.String(), p.Exit().Code
}

// connect is a program that prints what a socket says.
const connect = "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(99).decode())"

// inside, on amd64, is the beginning of a program that calls the kernel itself, as no tool stands in
// its way. root is the folder above what is hidden.
const inside = `
import ctypes, os, sys, struct
libc = ctypes.CDLL(None, use_errno=True)
root = sys.argv[1].encode()
def sys_(n, *args):
	r = libc.syscall(n, *args)
	if r < 0: sys.exit(f"{n}: " + os.strerror(ctypes.get_errno()))
	return r
def look(fd):
	os.fchdir(fd)
	print(open("secret/key").read())
	if not open("secret/key").read(): sys.exit("empty")
`

// nested makes namespaces of the program's own, in which it has every capability.
const nested = inside + "sys_(272, 0x10000000 | 0x20000)\n"

// Ways to look behind a cover.
const (
	umounts  = "sys_(166, root + b'/secret', 2); look(os.open(root, 0))"
	moves    = "sys_(165, root + b'/secret', root + b'/new', b'', 0x2000, b''); look(os.open(root, 0))"
	binds    = "sys_(165, root, root + b'/new', b'', 0x1000, b''); look(os.open(root + b'/new', 0))"
	opens    = "look(sys_(428, -100, root, 1 | 0o2000000))"
	clones   = "look(sys_(428, -100, root, 1 | 0x8000 | 0o2000000))"
	remounts = "sys_(165, b'', root + b'/secret', b'', 0x20 | 0x1000, b''); open(root + b'/secret/x', 'w')"
	overlays = `
fs = sys_(430, b"overlay", 0)
sys_(431, fs, 1, b"lowerdir", root + b":" + root + b"/in", 0)
sys_(431, fs, 6, 0, 0, 0)
look(sys_(432, fs, 0, 0))`
	handles = `
buf = ctypes.create_string_buffer(200); ctypes.memmove(buf, struct.pack("I", 128), 4)
sys_(303, -100, sys.argv[2].encode(), buf, ctypes.byref(ctypes.c_int()), 0)
print(os.fdopen(sys_(304, os.open(root, 0), buf, 0)).read())`
)

// vmRead is a program that reads the memory of another process.
const vmRead = "import sys; f=open(f'/proc/{sys.argv[1]}/mem','rb'); f.seek(0x400000); f.read(1); print('TOPSECRET')"

// Whatever a program tries, it finds nothing where something is hidden.
func TestHidden(t *testing.T) {
	t.Parallel()
	asOrdinary(t)
	h := newHideout(t)
	outside := strconv.Itoa(os.Getpid())
	key := filepath.Join(h.dir, "secret/key")
	for name, argv := range map[string][]string{
		"cat":               {"cat", key},
		"bash":              {"bash", "-c", "cat < ../secret/key"},
		"deep":              {"cat", "../secret/deep/key"},
		"python":            {"python3", "-c", "print(open('../secret/key').read())"},
		"node":              {"node", "-e", "console.log(require('fs').readFileSync('../secret/key')+'')"},
		"static binary":     {self, "-test.run=^TestReadHidden$", "-test.v"},
		"child":             {"sh", "-c", "(setsid cat ../secret/key)"},
		"beside what stays": {"cat", "../run/other/key"},
		"link":              {"sh", "-c", "ln -s ../secret/key x && cat x"},
		"hard link":         {"sh", "-c", "ln ../secret/key y && cat y"},
		"socket":            {"python3", "-c", connect, "../run/sock"},
		"socket in folder":  {"python3", "-c", connect, "../secret/sock"},
		"socket alone":      {"python3", "-c", connect, "../own"},

		"umount":        {"umount", filepath.Dir(key)},
		"umount lazily": {"sh", "-c", "umount -l ../secret && cat ../secret/key"},
		"bind":          {"sh", "-c", "mount --bind .. ../new && cat ../new/secret/key"},
		"remount":       {"mount", "-o", "remount,rw", filepath.Dir(key)},
		"fill":          {"sh", "-c", "echo x > ../secret/key"},
		"chroot":        {"chroot", h.dir, "/in/cat", "/secret/key"},
		"unshare":       {"unshare", "-m", "sh", "-c", "umount -l ../secret && cat ../secret/key"},

		"sys umount":       {"python3", "-c", inside + umounts, h.dir},
		"sys move":         {"python3", "-c", inside + moves, h.dir},
		"sys bind":         {"python3", "-c", inside + binds, h.dir},
		"sys open_tree":    {"python3", "-c", inside + opens, h.dir},
		"sys open_tree -r": {"python3", "-c", inside + clones, h.dir},
		"sys remount":      {"python3", "-c", inside + remounts, h.dir},
		"sys overlay":      {"python3", "-c", inside + overlays, h.dir},
		"sys handle":       {"python3", "-c", inside + handles, h.dir, h.dir + "/in"},

		"nested umount":       {"python3", "-c", nested + umounts, h.dir},
		"nested move":         {"python3", "-c", nested + moves, h.dir},
		"nested bind":         {"python3", "-c", nested + binds, h.dir},
		"nested open_tree":    {"python3", "-c", nested + opens, h.dir},
		"nested open_tree -r": {"python3", "-c", nested + clones, h.dir},
		"nested remount":      {"python3", "-c", nested + remounts, h.dir},
		"nested overlay":      {"python3", "-c", nested + overlays, h.dir},
		"nested handle":       {"python3", "-c", nested + handles, h.dir, h.dir + "/in"},

		"nsenter":               {"nsenter", "-t", outside, "-m", "cat", key},
		"nsenter user":          {"nsenter", "-t", outside, "-U", "-m", "cat", key},
		"nsenter parent":        {"nsenter", "--mount=/proc/1/ns/mnt", "cat", key},
		"root of a process":     {"cat", "/proc/" + outside + "/root" + key},
		"folder of a process":   {"cat", "/proc/" + outside + "/cwd/../" + key},
		"files of a process":    {"readlink", "/proc/" + outside + "/fd/0"},
		"memory of a process":   {"python3", "-c", vmRead, outside},
		"init":                  {"cat", "/proc/1/root" + key},
		"own root":              {"cat", "/proc/self/root" + key},
		"thread":                {"cat", "/proc/thread-self/root" + key},
		"strace":                {"strace", "-p", outside},
		"gdb":                   {"gdb", "-p", outside, "-batch"},
		"disk":                  {"mknod", "disk", "b", "254", "0"},
		"rights":                {"sh", "-c", "grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | grep -E '[13579bdf][0-9a-f]{4}[2367abef][0-9a-f]{5}$|[2367abef][0-9a-f]{5}$'"}, // SYS_ADMIN
		"a shell of the system": {"setpriv", "--bounding-set", "+sys_admin", "umount", "../secret"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(argv) > 2 && strings.Contains(argv[2], "libc") && runtime.GOARCH != "amd64" {
				t.Skip("its numbers are those of amd64")
			}
			h := *h
			h.T = t
			text, code := h.run(h.fence, argv...)
			t.Logf("exit %d: %s", code, text)
			if code == 0 || strings.Contains(text, secret) {
				t.Errorf("exit %d: %s", code, text)
			}
		})
	}
	if text, code := h.run(nil, "cat", key, "../run/other/key"); code != 0 || strings.Count(text, secret) != 2 {
		t.Errorf("outside: exit %d: %s", code, text)
	}
}

// TestReadHidden is the static program of TestHidden.
func TestReadHidden(t *testing.T) {
	out := os.Getenv("OUT")
	if out == "" {
		t.Skip("TestHidden starts it")
	}
	if b, err := os.ReadFile(filepath.Join(out, "secret/key")); err != nil {
		t.Fatal(err)
	} else {
		t.Log(string(b))
	}
}

// What is not hidden stays, and so does how a program starts.
func TestBesideHidden(t *testing.T) {
	t.Parallel()
	asOrdinary(t)
	h := newHideout(t)
	for name, argv := range map[string][]string{
		"shown":        {"grep", secret, "../run/shown/x"},
		"shown socket": {"python3", "-c", connect, "../run/shown/sock"},
		"empty":        {"sh", "-c", `test -d ../secret && test -z "$(ls -A ../secret)" && test -f ../netrc && test ! -s ../netrc && test "$(ls ../run)" = shown`},
		"devices":      {"sh", "-c", "echo x > /dev/null && test -c /dev/zero"},
		"git":          {"sh", "-c", "git init -q g && cd g && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && cd .. && rm -rf g"},
		"namespaces":   {"unshare", "-U", "true"},
		"debugger":     {"strace", "-o", "/dev/null", "true"},
		"signals":      {"sh", "-c", "sleep 100 & kill $!"},
		"write":        {"sh", "-c", "echo a > a && mv a b && rm b"},
	} {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.T = t
			if text, code := h.run(h.fence, argv...); code != 0 {
				t.Errorf("exit %d: %s", code, text)
			}
		})
	}
	for name, script := range map[string]string{
		"environment":   "env | sort | grep -v ^_=",
		"folder":        "pwd -P; readlink /proc/self/cwd",
		"user":          "id -u; id -g; umask; ulimit -a",
		"arguments":     "tr '\\0' ' ' < /proc/$$/cmdline",
		"group":         "test $(cut -d' ' -f5 /proc/$$/stat) = $$ && test $(cut -d' ' -f6 /proc/$$/stat) = $$ && echo leads",
		"files":         "ls /proc/$$/fd",
		"signal masks":  "exec grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status",
		"stderr, stdin": "readlink /proc/$$/fd/0",
	} {
		want, _ := h.run(nil, "sh", "-c", script)
		if got, code := h.run(h.fence, "sh", "-c", script); code != 0 || got != want || got == "" {
			t.Errorf("%s: exit %d: in the fence %s\nwithout %s", name, code, got, want)
		}
	}
	if text, code := h.run(h.fence, "sh", "-c", "kill -9 $$"); code != 128+9 {
		t.Errorf("killed: exit %d: %s", code, text)
	}
}

// Files of root that ssh includes would belong to nobody, which ssh refuses.
func TestSSH(t *testing.T) {
	t.Parallel()
	asOrdinary(t)
	h := newHideout(t)
	files := sshFiles(os.Getuid())
	if len(files) == 0 {
		t.Skip("ssh includes nothing of another user")
	}
	for _, file := range files {
		before, _ := os.ReadFile(file)
		text, code := h.run(h.fence, "sh", "-c", `stat -c "%u %a" "$0" && cat "$0"`, file)
		if want := fmt.Sprintf("%d 644\n%s", os.Getuid(), before); code != 0 || text != want {
			t.Errorf("%s: exit %d: %s\nwant %s", file, code, text, want)
		}
	}
	if text, code := h.run(h.fence, "ssh", "-G", "host.example"); code != 0 {
		t.Errorf("exit %d: %s", code, text)
	}
}

// A program that cannot be executed ends as in a shell, and one that works in a hidden
// folder does not start.
func TestStageFails(t *testing.T) {
	t.Parallel()
	h := newHideout(t)
	script := filepath.Join(h.dir, "in/none")
	if err := os.WriteFile(script, []byte("#!/no/such/program\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if text, code := h.run(h.fence, script); code != 127 || !strings.Contains(text, "cmux: fence: "+script) {
		t.Errorf("exit %d: %s", code, text)
	}
	f := *h.fence
	f.Hide, f.Write = append(f.Hide, h.dir), nil
	if text, code := h.run(&f, "true"); code != 126 || !strings.Contains(text, "hidden") {
		t.Errorf("exit %d: %s", code, text)
	}
	// What may be written is not hidden.
	f.Write = h.fence.Write
	if text, code := h.run(&f, "sh", "-c", "echo x > x && cat ../run/shown/x && ls .."); code != 0 || !strings.Contains(text, "in\nrun\n") {
		t.Errorf("exit %d: %s", code, text)
	}
}

// A place that is seen at several paths is hidden at all of them.
func TestAliases(t *testing.T) {
	mounts := parseMounts([]byte(`21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 8:2 / /home rw - ext4 /dev/sda2 rw
23 21 8:2 /me/a\040b /srv/x rw - ext4 /dev/sda2 rw
24 21 8:2 /other /srv/y rw - ext4 /dev/sda2 rw
25 21 8:1 /var/lib /data rw - ext4 /dev/sda1 rw
`))
	for path, want := range map[string]string{
		"/home/me/a b/key": "/srv/x/key", "/home/me/key": "", "/srv/x/key": "/home/me/a b/key", "/srv/x": "/home/me/a b",
		"/var/lib/z": "/data/z", "/data": "/var/lib", "/etc": "",
	} {
		if got := strings.Join(aliases(mounts, path), ","); got != want {
			t.Errorf("%s is also %q, want %q", path, got, want)
		}
	}
}

func TestNothingHides(t *testing.T) {
	if _, err := Support(); err != nil {
		t.Skip(err)
	}
	t.Setenv(namespacesVar, "0")
	if _, err := Hides(); !errors.Is(err, ErrShown) {
		t.Errorf("got %v", err)
	}
	files := map[string]string{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}
	read := func(name string) ([]byte, error) {
		if s, ok := files[name]; ok {
			return []byte(s), nil
		}
		return nil, os.ErrNotExist
	}
	if got := wayOut(read); !strings.Contains(got, "AppArmor") {
		t.Error(got)
	}
	files = map[string]string{"/proc/sys/user/max_user_namespaces": "0"}
	if got := wayOut(read); !strings.Contains(got, "max_user_namespaces=10000") {
		t.Error(got)
	}
	files = nil
	if got := wayOut(read); !strings.Contains(got, "container") {
		t.Error(got)
	}
}

// copiesUp lets the kernel make a file, a link and a folder outside: it copies them from the
// lower folder of an overlay into the upper one. argv: the folder above, and the upper one.
const copiesUp = `
uid, gid = os.getuid(), os.getgid()
sys_(272, 0x10000000 | 0x20000)
for name, map in ("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1"):
	try: os.write(os.open("/proc/self/" + name, os.O_WRONLY), map.encode())
	except OSError as e: print(name, e)
os.makedirs("lower/folder"); open("lower/marker", "w"); os.symlink("/tmp", "lower/link")
os.mkdir("work")
fs = sys_(430, b"overlay", 0)
for key, value in (b"lowerdir", root + b"/in/lower"), (b"upperdir", sys.argv[2].encode()), (b"workdir", root + b"/in/work"):
	sys_(431, fs, 1, key, value, 0)
sys_(431, fs, 6, 0, 0, 0)
at = sys_(432, fs, 0, 0)
for name in "folder", "marker", "link": os.utime(name, (1, 1), dir_fd=at, follow_symlinks=False)
`

// A program writes nothing outside by a file system of its own either, of which the kernel
// does not ask Landlock.
func TestOwnFileSystem(t *testing.T) {
	asOrdinary(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("the program's numbers are those of amd64")
	}
	h := newHideout(t)
	upper := filepath.Join(h.dir, "new")
	for name, f := range map[string]*Fence{"plain": {Write: h.fence.Write}, "hiding": h.fence} {
		out, code := h.run(f, "python3", "-c", inside+copiesUp, h.dir, upper)
		if made, err := os.ReadDir(upper); code == 0 || err != nil || len(made) > 0 || !strings.Contains(out, "430: ") {
			t.Errorf("%s: exit %d, %s: outside there is %v, %v", name, code, out, made, err)
		}
		for _, dir := range []string{"in/lower", "in/work", "new"} {
			if err := os.RemoveAll(filepath.Join(h.dir, dir)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(upper, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSandboxInside: an ordinary user's program makes a user namespace in a fence, as a
// browser does for its own sandbox, and gets no further with it.
func TestSandboxInside(t *testing.T) {
	asOrdinary(t)
	h := newHideout(t)
	plain := &Fence{Write: h.fence.Write}
	if out, code := h.run(nil, "unshare", "-Ur", "id", "-u"); code != 0 {
		t.Skip("without a fence: ", out)
	}
	for name, f := range map[string]*Fence{"plain": plain, "hiding": h.fence} {
		out, code := h.run(f, "unshare", "-Ur", "id", "-u")
		if works := code == 0 && strings.TrimSpace(out) == "0"; works != (os.Getuid() != 0) {
			t.Errorf("%s: %d, %s", name, code, out)
		}
		for _, inside := range []string{"umount secret", "mount -t tmpfs none in", "echo x > netrc", "echo 0 > /proc/sys/kernel/ngroups_max", "cat < /dev/zero | head -c 9 > /proc/1/mem"} {
			if out, code := h.run(f, "unshare", "-Urm", "sh", "-c", "cd "+h.dir+" && "+inside); code == 0 {
				t.Errorf("%s: %s: %s", name, inside, out)
			}
		}
	}
}

// A program follows no link below a folder that is plain, also when the folder was one when
// it began; it writes there, and beside it, as it does elsewhere.
func TestPlain(t *testing.T) {
	asOrdinary(t)
	h := newHideout(t)
	for _, d := range []string{"plain/d", "out"} {
		if err := os.MkdirAll(filepath.Join(h.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("sh", "-c", `cd plain/d && cd .. && mv d e && ln -s ../out d
		for f in d/x e/x y ../out/z; do if echo x > $f; then echo "wrote $f"; fi; done 2>/dev/null
		if cat d/../out/z; then echo read; fi 2>/dev/null; readlink d; mkdir -p d/new 2>/dev/null || echo none made`)
	cmd.Dir = h.dir
	if err := Plain(cmd, filepath.Join(h.dir, "plain")); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if want := "wrote e/x\nwrote y\nwrote ../out/z\n../out\nnone made\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s\nwant %s", err, out, want)
	}
}

// A program may write its copy of a file, whole and again, and the file stays as it is: it
// is not replaced, not by a link either, and the next program has a copy of its own.
func TestCopies(t *testing.T) {
	h := newHideout(t)
	file := filepath.Join(h.dir, "state.json")
	if err := os.WriteFile(file, []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.fence.Copies = []string{file, filepath.Join(h.dir, "no such file")}
	out, code := h.run(h.fence, "sh", "-c", `cat "$1"; printf 'own, and longer than it was\n' > "$1" && cat "$1"; printf short > "$1" && cat "$1"; echo
		echo x > "$2/new"; mv -f "$2/new" "$1" 2>/dev/null && echo moved; rm -f "$1" 2>/dev/null && echo removed; ln -sfn /etc/passwd "$1" 2>/dev/null && echo linked; umount "$1" 2>/dev/null && echo bare
		cat "$1"`, "sh", file, filepath.Join(h.dir, "in"))
	if want := "theirs\nown, and longer than it was\nshort\nshort"; strings.TrimSpace(out) != want || code != 0 {
		t.Errorf("it has said %q (%d), want %q", out, code, want)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "theirs\n" {
		t.Errorf("the file is %q (%v)", b, err)
	}
	if out, _ := h.run(h.fence, "cat", file); out != "theirs\n" {
		t.Errorf("the next program finds %q", out)
	}
	asOrdinary(t)
}
