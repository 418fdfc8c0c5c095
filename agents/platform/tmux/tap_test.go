package tmux

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// shows waits until a pane shows want.
func shows(t *testing.T, c *Client, p PaneID, want string) {
	t.Helper()
	eventually(t, func() error {
		if got := run(t, c, "capture-pane", "-p", "-S", "-", "-t", string(p)); !strings.Contains(got, want) {
			return fmt.Errorf("%s shows %q, not %q", p, got, want)
		}
		return nil
	})
}

// all returns everything that can be known of a pane's screen.
func all(t *testing.T, c *Client, p PaneID) string {
	t.Helper()
	at := string(p)
	return run(t, c, "capture-pane", "-p", "-e", "-S", "-", "-t", at) + "\n--\n" + run(t, c, "capture-pane", "-p", "-e", "-a", "-q", "-t", at) + "\n--\n" +
		run(t, c, "display-message", "-p", "-t", at, modesFormat)
}

// The screen at the time of the tap plus the later output make another terminal show the
// same; here that is a pane of tmux too.
func TestTap(t *testing.T) {
	const sgr = `\033[1;31mred\033[0m `
	for name, script := range map[string]string{
		"a shell":          `printf '$ ls\r\nfile\r\n$ '; read x; printf 'more\r\n$ '`,
		"colors":           `printf '` + sgr + sgr + `\033[44mblue to the end\033[K\033[0m\r\n'; read x; printf 'on\033[7m\r\n'`,
		"wide":             `printf '日本語 é 🙂\r\n'; read x; printf '語\r\n'`,
		"much":             `i=0; while [ $i -lt 300 ]; do printf 'line %d\r\n' $i; i=$((i+1)); done; read x; printf 'end\r\n'`,
		"full lines":       `i=0; while [ $i -lt 25 ]; do printf '%080d' $i; i=$((i+1)); done; read x; printf 'end'`,
		"alternate screen": `printf 'below\r\nit\r\n\033[?1049h\033[2J\033[5;10Hin it\033[?25l'; read x; printf '\033[6;1Hmore\033[?1049lback\r\n'`,
		"stays alternate":  `printf 'below\r\n\033[?1049h\033[2J\033[3;3Hin it\033[?1002h\033[?1006h'; read x; printf '\033[6;1Hmore'`,
		"resized behind":   `printf 'below\r\nit\r\n\033[?1049h\033[2J\033[5;10Hin it'; read x; printf '\033[?1049lback\r\n'`,
		"a region":         `printf '\033[2J\033[3;10r\033[5;5Hx\033[?1h\033=\033[4h'; read x; printf '\033[10;1H\r\n\r\nscrolled'`,
		"origin, no wrap":  `printf '\033[3;10r\033[?6h\033[2;4H\033[?7l'; read x; printf 'here'`,
		"half a sequence":  `printf 'x\033[3'; read x; printf '1mred\033[0m\r\n'`,
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, newServer(t), nil)
			dir := t.TempDir()
			p := session(t, c, Spec{Dir: dir, Argv: []string{"sh", "-c", "stty raw -echo; until [ -e begin ]; do sleep 0.1; done; " + script + "; printf ready >done; exec cat"}})
			resize := func() { run(t, c, "resize-window", "-t", string(p.Window), "-x", "80", "-y", "24") }
			if name != "resized behind" {
				resize()
			}
			if err := os.WriteFile(filepath.Join(dir, "begin"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if name == "resized behind" {
				shows(t, c, p.Pane, "in it")
				resize()
			}
			before := all(t, c, p.Pane)
			eventually(t, func() error { // it waits for its line
				now := all(t, c, p.Pane)
				defer func() { before = now }()
				if now != before || strings.Count(now, "\n") < 10 || strings.Trim(now[:strings.Index(now, "--")], "\n") == "" && name != "origin, no wrap" {
					return errors.New("it still prints")
				}
				return nil
			})
			file := filepath.Join(dir, "it's 100% #{pane_id}")
			printed := copied(t, file)
			s, err := c.Tap(t.Context(), p.Pane, file, 2000)
			if err != nil || s.Width != 80 || s.Tap != file || s.Dead {
				t.Fatalf("%+v, %v", s, err)
			}
			if err := c.Type(t.Context(), p.Pane, []byte("go\n")); err != nil {
				t.Fatal(err)
			}
			contents(t, filepath.Join(dir, "done"), "ready")
			var same, theirs string
			eventually(t, func() error {
				rest, err := os.ReadFile(printed)
				if err != nil {
					return err
				}
				copied := filepath.Join(dir, "copied")
				if err := os.WriteFile(copied, append(s.Text, rest...), 0o600); err != nil {
					return err
				}
				at, err := c.NewWindow(t.Context(), p.Session, "copy", Spec{Dir: dir, Argv: []string{"sh", "-c", "stty raw -echo; until [ -e go ]; do sleep 0.1; done; cat copied; printf . >shown; exec cat"}}, Marks{})
				if err != nil {
					return err
				}
				defer c.KillPane(t.Context(), at.Pane)
				run(t, c, "resize-window", "-t", string(at.Window), "-x", "80", "-y", "24")
				if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
					return err
				}
				contents(t, filepath.Join(dir, "shown"), ".")
				os.Remove(filepath.Join(dir, "shown"))
				os.Remove(filepath.Join(dir, "go"))
				for range 20 { // tmux may not have read it yet
					if same, theirs = all(t, c, p.Pane), all(t, c, at.Pane); same == theirs {
						return nil
					}
				}
				return fmt.Errorf("it shows\n%s\nand the copy\n%s", same, theirs)
			})
			if err := c.Untap(t.Context(), p.Pane, file); err != nil {
				t.Fatal(err)
			}
			if s, err := c.Look(t.Context(), p.Pane); err != nil || s.Tap != "" {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// However often a printing pane is tapped: the screen and the later output are in order,
// without gap or repetition.
func TestTapWhileItPrints(t *testing.T) {
	c := connect(t, newServer(t), nil)
	dir := t.TempDir()
	p := session(t, c, Spec{Dir: dir, Argv: []string{"sh", "-c", "stty raw -echo; i=0; while :; do i=$((i+1)); printf '%d\r\n' $i; done"}})
	for n := range 10 {
		fifo := filepath.Join(dir, fmt.Sprint(n))
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(fifo, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Tap(t.Context(), p.Pane, fifo, 50)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 8<<10)
		k, err := f.Read(b)
		if err == nil && k < 100 {
			var more int
			more, err = f.Read(b[k:])
			k += more
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		text := string(s.Text)
		text = text[:strings.LastIndex(text, "\x1b[")] // the cursor
		text = strings.NewReplacer("\x1bc", "", "\x1b[0m", "").Replace(text)
		lines := strings.Fields(strings.TrimRight(text, "\r\n") + sep(s, b[:k]) + string(b[:k]))
		last := 0
		for i, l := range lines[:len(lines)-1] {
			var is int
			if _, err := fmt.Sscan(l, &is); err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			if last > 0 && is != last+1 {
				t.Fatalf("tap %d, line %d of %d: %d follows %d", n, i, len(lines), is, last)
			}
			last = is
		}
		if last == 0 {
			t.Fatal("it printed nothing")
		}
	}
}

// copied makes a named pipe and returns a file with its content.
func copied(t *testing.T, fifo string) (file string) {
	t.Helper()
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "printed"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(out, in)
	}()
	t.Cleanup(func() {
		in.Close()
		<-ended
		out.Close()
	})
	return out.Name()
}

// If the pipe is gone when the shell of a tap starts, the shell creates no file. If a file
// has replaced it, the shell does not write to it.
func TestTapMakesNoFile(t *testing.T) {
	c := connect(t, newServer(t), nil)
	dir := t.TempDir()
	p := session(t, c, cat(dir))
	gone, file := filepath.Join(dir, "gone"), filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{gone, file} {
		if _, err := c.Tap(t.Context(), p.Pane, path, 10); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error { // its shell has ended, which tmux notices when it writes
			if err := c.Type(t.Context(), p.Pane, []byte("more\r")); err != nil {
				return err
			}
			s, err := c.Look(t.Context(), p.Pane)
			if err == nil && s.Tap != "" {
				err = fmt.Errorf("it is still copied to %s", s.Tap)
			}
			return err
		})
	}
	if _, err := os.Lstat(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is made: %v", err)
	}
	contents(t, file, "mine")
}

// sep is the separator between the screen of a pane that prints lines and the later output:
// the line end, if the cursor is at the start of a line.
func sep(s Screen, rest []byte) string {
	if strings.HasSuffix(string(s.Text), ";1H") && rest[0] != '\r' && rest[0] != '\n' {
		return "\n"
	}
	return ""
}

// Tap does not touch a pane whose output a person copies.
func TestTapLeavesOthersAlone(t *testing.T) {
	c := connect(t, newServer(t), nil)
	dir := t.TempDir()
	p := session(t, c, cat(dir))
	run(t, c, "pipe-pane", "-t", string(p.Pane), "cat >mine")
	if _, err := c.Tap(t.Context(), p.Pane, filepath.Join(dir, "ours"), 10); !errors.Is(err, ErrTapped) {
		t.Fatal(err)
	}
	if _, err := c.Tap(t.Context(), "%99", filepath.Join(dir, "ours"), 10); !errors.Is(err, ErrNotFound) {
		t.Errorf("no pane: %v", err)
	}
	run(t, c, "pipe-pane", "-t", string(p.Pane))
	for _, file := range []string{"one", "two"} { // the second ends the first
		copied(t, filepath.Join(dir, file))
		if _, err := c.Tap(t.Context(), p.Pane, filepath.Join(dir, file), 10); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Untap(t.Context(), p.Pane, filepath.Join(dir, "one")); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Look(t.Context(), p.Pane); err != nil || s.Tap != filepath.Join(dir, "two") {
		t.Errorf("another's tap was ended: %+v, %v", s, err)
	}
}

func TestTypeAndPaste(t *testing.T) {
	c := connect(t, newServer(t), nil)
	dir := t.TempDir()
	p := session(t, c, Spec{Dir: dir, Argv: []string{"sh", "-c", `stty raw -echo; printf '\033[?2004hready'; exec cat >got`}})
	shows(t, c, p.Pane, "ready")
	typed := "é\x1b[A\x03\x00" + strings.Repeat("x", 1500)
	if err := c.Type(t.Context(), p.Pane, []byte(typed)); err != nil {
		t.Fatal(err)
	}
	contents(t, filepath.Join(dir, "got"), typed)
	if err := c.Paste(t.Context(), p.Pane, "a; b\r\x1b[201~rm\u009b\tü"); err != nil {
		t.Fatal(err)
	}
	contents(t, filepath.Join(dir, "got"), typed+"\x1b[200~a; b\r[201~rm\tü\x1b[201~")
	if out := run(t, c, "list-buffers"); out != "" {
		t.Errorf("it stays in %s", out)
	}
}

func TestSitters(t *testing.T) {
	s := newServer(t)
	c := connect(t, s, nil)
	p := session(t, c, cat(t.TempDir()))
	other, err := c.NewWindow(t.Context(), p.Session, "other", cat(t.TempDir()), Marks{})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := c.Sitters(t.Context(), p.Pane); err != nil || len(all) > 0 {
		t.Fatalf("%v, %v", all, err)
	}
	attachPTY(t, s, p.Session, 80, 24)
	var all []Sitter
	eventually(t, func() error {
		if all, err = c.Sitters(t.Context(), p.Pane); err != nil || len(all) != 1 {
			return fmt.Errorf("%v, %v", all, err)
		}
		return nil
	})
	if since := time.Since(all[0].Typed); !strings.HasPrefix(all[0].Name, "/dev/") || since < -2*time.Second || since > time.Minute {
		t.Errorf("%+v", all)
	}
	if all, err := c.Sitters(t.Context(), other.Pane); err != nil || len(all) > 0 {
		t.Errorf("of another pane: %v, %v", all, err)
	}
	marked := func(thought PaneID) PaneID {
		t.Helper()
		found, err := c.Marked(t.Context(), thought, "run", "api")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := marked(p.Pane); got != "" {
		t.Errorf("%s is another's", got)
	}
	for name, value := range NodeMarks("run", "api") {
		run(t, c, "set-option", "-p", "-t", string(other.Pane), name, value)
	}
	if marked("") != other.Pane || marked(p.Pane) != other.Pane || marked(other.Pane) != other.Pane {
		t.Errorf("%s is not found", other.Pane)
	}
}
