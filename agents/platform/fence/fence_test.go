package fence

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cmux/agents/platform/proc"
)

// What is kept back is replaced by what else lies beside it, at every level.
func TestWithout(t *testing.T) {
	tree := map[string][]string{
		"/":        {"home", "tmp"},
		"/home":    {"a", "b"},
		"/home/a":  {".cmux", "src", "x"},
		"/home/ab": {"y"},

		"/home/a/.cmux": {"runs"},
	}
	list := func(dir string) ([]string, error) {
		names, ok := tree[dir]
		if !ok {
			return nil, errors.New("listed " + dir)
		}
		return names, nil
	}
	for _, c := range []struct {
		places, kept, want []string
	}{
		{[]string{"/tmp", "/home/a"}, nil, []string{"/home/a", "/tmp"}},
		{[]string{"/home/a"}, []string{"/home/a/.cmux"}, []string{"/home/a/src", "/home/a/x"}},
		{[]string{"/home"}, []string{"/home/a/.cmux/runs"}, []string{"/home/a/src", "/home/a/x", "/home/b"}},
		{[]string{"/home/a/src/"}, []string{"/home/a/s"}, []string{"/home/a/src"}},
		{[]string{"/home/ab"}, []string{"/home/a"}, []string{"/home/ab"}},
		{[]string{"/home/a/x", "/home/a"}, []string{"/home/a"}, nil},
		{[]string{"/"}, []string{"/home"}, []string{"/tmp"}},
	} {
		got, err := Without(c.places, c.kept, list)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Without(%q, %q) = %q, %v; want %q", c.places, c.kept, got, err, c.want)
		}
	}
}

// A program of any sort, and what it starts, writes where it may, and nowhere else, under each
// version of Landlock that serves.
func TestFence(t *testing.T) {
	if _, err := Support(); err != nil {
		t.Skip(err)
	}
	for _, most := range []string{"3", "6", "99"} {
		t.Run("at most "+most, func(t *testing.T) {
			t.Setenv("CMUX_LANDLOCK", most)
			testFence(t)
		})
	}
}

func testFence(t *testing.T) {
	s, err := proc.NewSpawner()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, d := range []string{in, filepath.Join(in, "sub"), out} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	theirs := filepath.Join(out, "theirs")
	if err := os.WriteFile(theirs, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, filepath.Join(in, "link")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &Fence{Write: []string{in, "/dev/null", filepath.Join(dir, "gone")}}
	run := func(confine func(*exec.Cmd) error, argv ...string) (string, int) {
		t.Helper()
		if _, err := exec.LookPath(argv[0]); err != nil {
			t.Skip(err)
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "MARK=1", "FENCE_TEST_OUT="+out)
		var text strings.Builder
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = w, w
		p, err := s.Start(cmd, "MARK=1", confine)
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1<<16)
		for {
			n, err := r.Read(buf)
			text.Write(buf[:n])
			if err != nil {
				break
			}
		}
		<-p.Exited()
		return text.String(), p.Exit().Code
	}
	for name, argv := range map[string][]string{
		"write":         {"sh", "-c", "echo x > ../out/made"},
		"append":        {"sh", "-c", "echo x >> ../out/theirs"},
		"empty":         {"python3", "-c", "import os; os.truncate('../out/theirs', 0)"},
		"remove":        {"rm", "-f", theirs},
		"move in":       {"mv", theirs, "mine"},
		"move out":      {"sh", "-c", "echo x > mine && mv mine ../out/mine"},
		"hard link":     {"ln", theirs, "hard"},
		"folder":        {"mkdir", "../out/folder"},
		"by a link":     {"sh", "-c", "echo x > link/made"},
		"a link made":   {"sh", "-c", "ln -s ../out way && echo x > way/made"},
		"child":         {"bash", "-c", "(setsid sh -c 'echo x > ../out/made')"},
		"python":        {"python3", "-c", "open('../out/made', 'w').write('x')"},
		"node":          {"node", "-e", "require('fs').writeFileSync('../out/made', 'x')"},
		"static binary": {self, "-test.run=^TestWriteOut$", "-test.v"},
		"socket":        {"python3", "-c", "import socket; socket.socket(socket.AF_UNIX).bind('../out/s')"},
		"mode":          {"sh", "-c", "mkfifo ../out/pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			text, code := run(f.Confine, argv...)
			if code == 0 {
				t.Errorf("it succeeded: %s", text)
			}
			names, err := List(out)
			if b, _ := os.ReadFile(theirs); err != nil || !slices.Equal(names, []string{"theirs"}) || string(b) != "kept" {
				t.Errorf("outside there is %q, %v, and %q", names, err, b)
			}
		})
	}
	for name, argv := range map[string][]string{
		"inside":  {"sh", "-c", "echo a > a && mv a sub/a && rm sub/a && mkdir -p x/y && ln -s x z && echo b > x/y/b && ln x/y/b x/b && : > /dev/null && rm -r x z"},
		"reading": {"cat", theirs},
		"git":     {"sh", "-c", "git init -q g && cd g && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && cd .. && rm -r g"},
		"signals": {"sh", "-c", "sleep 100 & kill $!"},
	} {
		t.Run(name, func(t *testing.T) {
			if text, code := run(f.Confine, argv...); code != 0 {
				t.Errorf("exit %d: %s", code, text)
			}
		})
	}
	// The fence is around the program, not around whoever starts it.
	if text, code := run(nil, "sh", "-c", "echo x > ../out/made && rm ../out/made"); code != 0 {
		t.Errorf("without a fence: exit %d: %s", code, text)
	}
	if err := os.WriteFile(filepath.Join(out, "ours"), nil, 0o600); err != nil {
		t.Error(err)
	}
}

// TestWriteOut is the program of TestFence that is linked statically.
func TestWriteOut(t *testing.T) {
	out := os.Getenv("FENCE_TEST_OUT")
	if out == "" {
		t.Skip("TestFence starts it")
	}
	if err := os.WriteFile(filepath.Join(out, "made"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An older kernel has less, and the oldest have none that serves.
func TestSupport(t *testing.T) {
	if _, err := Support(); err != nil {
		t.Skip(err)
	}
	for most, want := range map[string]string{"0": "no Landlock", "1": "too old", "2": "too old", "3": "without the part that keeps signals in", "5": "without the part", "99": "Landlock"} {
		t.Setenv("CMUX_LANDLOCK", most)
		name, err := Support()
		if text := name + fmt.Sprint(err); !strings.Contains(text, want) || (err == nil) == errors.Is(err, ErrMissing) {
			t.Errorf("at most %s: %q, %v; want %q", most, name, err, want)
		}
	}
}

func TestProfile(t *testing.T) {
	begin := "(version 1)\n(allow default)\n(deny file-write*)\n(deny signal (target others))\n"
	got := profile([]string{"/a b", `/c"\d`}, nil, nil)
	if want := begin + "(allow file-write*\n\t(subpath \"/a b\")\n\t(subpath \"/c\\\"\\\\d\")\n)\n"; got != want {
		t.Errorf("got %s", got)
	}
	got = profile([]string{"/h/w", "/w"}, []string{"/h", "/s"}, []string{"/h/r", "/h/w"})
	want := begin + "(allow file-write*\n\t(subpath \"/h/w\")\n\t(subpath \"/w\")\n)\n" +
		"(deny file-read* file-write* network-outbound\n\t(subpath \"/h\")\n\t(subpath \"/s\")\n)\n" +
		"(allow file-read* network-outbound\n\t(subpath \"/h/r\")\n\t(subpath \"/h/w\")\n)\n" +
		"(allow file-write*\n\t(subpath \"/h/w\")\n)\n"
	if got != want {
		t.Errorf("got %s", got)
	}
}

// BenchmarkStart is the time that the fence adds to the start of a program.
func BenchmarkStart(b *testing.B) {
	if _, err := Support(); err != nil {
		b.Skip(err)
	}
	s, err := proc.NewSpawner()
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var places []string
	for range 60 { // as many as a node has
		places = append(places, b.TempDir())
	}
	f := &Fence{Write: append(places, os.DevNull)}
	ways := map[string]func(*exec.Cmd) error{"fence=none": nil, "fence=writes": f.Confine}
	if _, err := Hides(); err == nil {
		hiding := &Fence{Write: f.Write}
		for i := range 12 { // as many as a node has
			dir := filepath.Join(b.TempDir(), fmt.Sprint(i))
			if err := os.Mkdir(dir, 0o700); err != nil {
				b.Fatal(err)
			}
			hiding.Hide = append(hiding.Hide, dir)
		}
		ways["fence=hides"] = hiding.Confine
	}
	for name, confine := range ways {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				cmd.Env = []string{"MARK=1"}
				p, err := s.Start(cmd, "MARK=1", confine)
				if err != nil {
					b.Fatal(err)
				}
				<-p.Exited()
			}
		})
	}
}

// TestPlaceReplaced: a place that was replaced by a link since it was named opens nothing.
func TestPlaceReplaced(t *testing.T) {
	if _, err := Support(); err != nil {
		t.Skip(err)
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"in", "sub/in", "out", "out/in"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func() (out []byte, err error) {
		cmd := exec.Command("sh", "-c", "touch "+filepath.Join(base, "out/x")+" || touch "+filepath.Join(base, "out/in/x"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			f := &Fence{Write: []string{filepath.Join(base, "in"), filepath.Join(base, "sub/in")}}
			if err = f.Confine(cmd); err == nil {
				out, err = cmd.CombinedOutput()
			}
		}()
		<-done
		return out, err
	}
	for _, link := range []string{"in", "sub"} {
		if err := os.RemoveAll(filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(base, "out"), filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := write(); err == nil {
		t.Errorf("written through a link: %s", out)
	}
}
