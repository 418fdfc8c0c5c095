package signals

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// folder is a signals folder with a Scanner and a clock of its own.
type folder struct {
	t   testing.TB
	dir string
	*Scanner
	now time.Time
}

func newFolder(t testing.TB, names ...string) *folder {
	dir := filepath.Join(t.TempDir(), "signals")
	must(t, os.Mkdir(dir, 0o755))
	return &folder{t, dir, NewScanner(dir, names), time.Now()}
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name+Suffix) }

func (f *folder) scan() []Observed {
	f.t.Helper()
	all, _, err := f.Scan(f.now)
	must(f.t, err)
	return all
}

// verdict scans after d and judges the first node.
func (f *folder) verdict(rec Recorded, d time.Duration) VerdictKind {
	f.t.Helper()
	f.now = f.now.Add(d)
	all, _, err := f.Scan(f.now)
	if err != nil && !errors.Is(err, ErrNoDir) {
		f.t.Fatal(err)
	}
	one, err := f.Look(0, f.now)
	must(f.t, err)
	if one != all[0] {
		f.t.Errorf("Look sees %+v, Scan %+v", one, all[0])
	}
	return Judge(rec, all[0], f.now).Kind
}

// publish ends the first node with this code, as a wrapper does.
func (f *folder) publish(code int) Recorded {
	f.t.Helper()
	p, err := Prepare(f.dir, strings.TrimSuffix(f.files[0], Suffix), code)
	must(f.t, err)
	rec := Recorded{Known: true, Marker: Marker{p.Identity(), Exit(code)}, Published: true}
	must(f.t, p.Publish())
	return rec
}

// touch does what touch(1) does, and makes sure that the mtime changes.
func (f *folder) touch(name string) {
	f.t.Helper()
	must(f.t, os.Chtimes(f.path(name), time.Time{}, time.Now().Add(-time.Hour)))
}

func TestScanSeesEverySortOfFile(t *testing.T) {
	names := []string{"code", "empty", "text", "none", "dir", "link", "dangling", "huge", "fifo", "space", "secret"}
	f := newFolder(t, names...)
	write(t, f.path("code"), " 99\n")
	write(t, f.path("empty"), "")
	write(t, f.path("text"), "done\x1b[31m")
	write(t, f.path("huge"), strings.Repeat("0", 1<<20))
	write(t, f.path("space"), "\n")
	write(t, f.path("secret"), "0\n")
	must(t, os.Chmod(f.path("secret"), 0))
	write(t, f.path("stranger"), "0\n")
	write(t, filepath.Join(f.dir, "code"), "0\n")
	must(t, os.Mkdir(filepath.Join(f.dir, ".git"), 0o755))
	must(t, os.Mkdir(f.path("dir"), 0o755))
	must(t, os.Symlink(f.path("code"), f.path("link")))
	must(t, os.Symlink("nowhere", f.path("dangling")))
	must(t, syscall.Mkfifo(f.path("fifo"), 0o644))

	all, others, err := f.Scan(f.now)
	must(t, err)
	slices.Sort(others)
	if want := []string{"code", "stranger.done"}; !reflect.DeepEqual(others, want) {
		t.Errorf("others %v, want %v", others, want)
	}
	want := map[string]string{
		"code": "99", "empty": "empty", "text": `bad: holds "done\x1b[31m", not an exit code`,
		"dir": "bad: is a directory, not a file", "link": "bad: is a symbolic link, not a file",
		"dangling": "bad: is a symbolic link, not a file", "fifo": "bad: is a named pipe, not a file",
		"huge": `bad: holds "` + strings.Repeat("0", 32) + `", not an exit code`,
		"none": "missing", "space": `bad: holds "\n", not an exit code`,
		"secret": "bad: cannot be read: permission denied",
	}
	if os.Geteuid() == 0 { // who may read everything
		want["secret"] = "0"
	}
	for i, name := range names {
		got := "missing"
		if o := all[i]; o.Exists {
			if got = o.Content.String(); o.Problem != "" {
				got += ": " + o.Problem
			}
		}
		if got != want[name] {
			t.Errorf("%s is %q, want %q", name, got, want[name])
		}
	}
	if f.Node("link.done") != 5 || f.Node("stranger.done") != -1 {
		t.Error("Node is wrong")
	}
	for i := range names {
		one, err := f.Look(i, f.now)
		must(t, err)
		if one != all[i] {
			t.Errorf("Look sees %+v, Scan %+v", one, all[i])
		}
	}
}

func TestTouchOnAFailedMarker(t *testing.T) {
	for _, code := range []int{1, 99, 124, 130} {
		f := newFolder(t, "x")
		rec := f.publish(code)
		if got := f.verdict(rec, 0); got != Ours {
			t.Fatalf("%d before: %v", code, got)
		}
		f.touch("x")
		if got := f.verdict(rec, 0); got != Touched {
			t.Fatalf("%d touched: %v", code, got)
		}
		// cmux empties the marker first; a crash before it is recorded changes nothing.
		id, err := Replace(f.dir, "x", Content{Kind: Empty})
		must(t, err)
		if got := f.verdict(rec, 0); got != Unsettled {
			t.Errorf("%d emptied: %v", code, got)
		}
		if got := f.verdict(rec, Settle); got != Override {
			t.Errorf("%d emptied and settled: %v", code, got)
		}
		rec = Recorded{Known: true, Marker: Marker{id, Content{Kind: Empty}}, Published: true}
		if got := f.verdict(rec, 0); got != Ours {
			t.Errorf("%d recorded: %v", code, got)
		}
	}
}

func TestTouchOnADoneMarker(t *testing.T) {
	f := newFolder(t, "x")
	rec := f.publish(0)
	f.touch("x")
	if got := f.verdict(rec, 0); got != Ours {
		t.Errorf("touched: %v", got)
	}
}

// `echo $? > x.done` leaves x.done empty for an instant.
func TestEmptyFileSettles(t *testing.T) {
	f := newFolder(t, "x")
	write(t, f.path("x"), "")
	if got := f.verdict(Recorded{}, 0); got != Unsettled {
		t.Fatalf("at once: %v", got)
	}
	if got := f.verdict(Recorded{}, Settle-1); got != Unsettled {
		t.Fatalf("just before: %v", got)
	}
	write(t, f.path("x"), "5\n")
	if got := f.verdict(Recorded{}, 1); got != FailedByHand {
		t.Fatalf("written: %v", got)
	}
	write(t, f.path("x"), "") // emptied again: Settle begins again
	if got := f.verdict(Recorded{}, time.Hour); got != Unsettled {
		t.Fatalf("emptied: %v", got)
	}
	f.touch("x") // perhaps written and emptied in between
	if got := f.verdict(Recorded{}, Settle); got != Unsettled {
		t.Fatalf("changed: %v", got)
	}
	if got := f.verdict(Recorded{}, Settle); got != Override {
		t.Errorf("settled: %v", got)
	}
}

func TestRemovalOfAMarker(t *testing.T) {
	for code, want := range map[int]VerdictKind{0: PutBack, 1: Retry, 99: Retry, 130: Retry} {
		f := newFolder(t, "x")
		rec := f.publish(code)
		f.scan()
		must(t, os.Remove(f.path("x")))
		if got := f.verdict(rec, time.Hour); got != Unsettled {
			t.Errorf("%d removed: %v", code, got)
		}
		if got := f.verdict(rec, Settle); got != want {
			t.Errorf("%d removed and settled: %v, want %v", code, got, want)
		}
	}
}

func TestRemovalOfTheFolder(t *testing.T) {
	f := newFolder(t, "x", "y")
	rec := f.publish(1)
	f.scan()
	must(t, os.RemoveAll(f.dir))
	if _, _, err := f.Scan(f.now); !errors.Is(err, ErrNoDir) {
		t.Fatalf("Scan: %v", err)
	}
	if got := f.verdict(rec, 0); got != PutBack {
		t.Errorf("without the folder: %v", got)
	}
	must(t, os.Mkdir(f.dir, 0o755))
	if got := f.verdict(rec, time.Hour); got != PutBack {
		t.Errorf("with a new folder: %v", got)
	}
	rec = f.publish(1)
	if got := f.verdict(rec, 0); got != Ours {
		t.Errorf("put back: %v", got)
	}
	must(t, os.Remove(f.path("x"))) // this time it is one marker
	f.verdict(rec, 0)
	if got := f.verdict(rec, Settle); got != Retry {
		t.Errorf("removed after that: %v", got)
	}
}

// The folder is removed and created again between two looks, on a file system that reuses
// inode numbers.
func TestReplacedFolder(t *testing.T) {
	root := t.TempDir()
	must(t, Init(root))
	dir := filepath.Join(root, Folder, Dir)
	now := time.Now()
	f := &folder{t, dir, NewScanner(dir, []string{"x"}), now}
	rec := f.publish(1)
	f.scan()
	was := f.Folder()
	must(t, os.RemoveAll(dir))
	must(t, Init(root))
	if got := f.verdict(rec, 0); got != PutBack {
		t.Errorf("the same scanner: %v", got)
	}

	later := &folder{t, dir, NewScanner(dir, []string{"x"}), now}
	later.Expect(was)
	if got := later.verdict(rec, 0); got != PutBack {
		t.Errorf("a scanner that was told: %v", got)
	}
	later = &folder{t, dir, NewScanner(dir, []string{"x"}), now}
	later.Expect(f.Folder())
	later.verdict(rec, 0)
	if got := later.verdict(rec, Settle); got != Retry {
		t.Errorf("a scanner that expects this folder: %v", got)
	}
}

func TestScanReadsAgainOnlyWhatChanged(t *testing.T) {
	f := newFolder(t, "x")
	when := time.Unix(1_700_000_000, 0)
	set := func(content string) {
		write(t, f.path("x"), content)
		must(t, os.Chtimes(f.path("x"), when, when))
	}
	code := func(d time.Duration) Content {
		f.now = f.now.Add(d)
		return f.scan()[0].Content
	}
	set("1\n")
	if got := code(0); got != Exit(1) {
		t.Fatal(got)
	}
	set("2\n") // within a tick of the clock: the same identity
	if got := code(time.Second); got != Exit(2) {
		t.Errorf("changed within a tick: %v", got)
	}
	code(trusted + 1)
	set("3\n") // no file system can do this; it shows what is remembered
	if got := code(time.Second); got != Exit(2) {
		t.Errorf("read again without need: %v", got)
	}
	when = when.Add(1)
	set("4\n")
	if got := code(0); got != Exit(4) {
		t.Errorf("changed: %v", got)
	}
}

func TestClockJumpsChangeNothing(t *testing.T) {
	for _, jump := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		f := newFolder(t, "x")
		rec := f.publish(0)
		rec.Identity.MTime += int64(jump)
		at := time.Unix(0, rec.Identity.MTime)
		must(t, os.Chtimes(f.path("x"), at, at))
		if got := f.verdict(rec, 0); got != Ours {
			t.Errorf("ours from %v: %v", jump, got)
		}
		must(t, os.Remove(f.path("x")))
		write(t, f.path("x"), "")
		must(t, os.Chtimes(f.path("x"), at, at.Add(1)))
		if got := f.verdict(Recorded{}, 0); got != Unsettled {
			t.Errorf("empty from %v: %v", jump, got)
		}
		if got := f.verdict(Recorded{}, Settle); got != Override {
			t.Errorf("empty from %v, settled: %v", jump, got)
		}
	}
}

// A power cut: the record is durable; the marker may be whole, partial or missing.
func TestPowerCutBetweenRecordAndMarker(t *testing.T) {
	f := newFolder(t, "x")
	p, err := Prepare(f.dir, "x", 7)
	must(t, err)
	rec := Recorded{Known: true, Marker: Marker{p.Identity(), Exit(7)}}
	p.Discard() // the machine goes down before Publish
	f.verdict(rec, 0)
	if got := f.verdict(rec, Settle); got != PutBack {
		t.Fatalf("no marker: %v", got)
	}
	rec = f.publish(7)
	rec.Published = false // it was not seen since the machine came up again
	at := time.Unix(0, rec.Identity.MTime)
	for _, left := range []string{"", "\x00\x00"} {
		must(t, os.WriteFile(f.path("x"), []byte(left), 0o644))
		must(t, os.Chtimes(f.path("x"), at, at))
		if got := f.verdict(rec, 0); got != Torn {
			t.Errorf("left %q: %v", left, got)
		}
	}
	id, err := Replace(f.dir, "x", rec.Content)
	must(t, err)
	if got := f.verdict(rec, 0); got != Adopt && id != rec.Identity {
		t.Errorf("replaced, not recorded yet: %v", got)
	}
	rec.Identity = id
	if got := f.verdict(rec, 0); got != Ours {
		t.Errorf("replaced: %v", got)
	}
}

func TestScanFailsClearly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	s := NewScanner(file, []string{"x"})
	if _, _, err := s.Scan(time.Now()); err == nil || errors.Is(err, ErrNoDir) {
		t.Errorf("Scan of a file: %v", err)
	}
	if _, err := s.Look(0, time.Now()); err == nil {
		t.Errorf("Look in a file: %v", err)
	}
}

// A believed marker counts, unread, for the file that its writer left and for no other.
func TestBelieve(t *testing.T) {
	f := newFolder(t, "x")
	rec := f.publish(7)
	for { // its inode changes after its content
		must(t, os.Chmod(f.path("x"), 0o600))
		var st unix.Stat_t
		must(t, unix.Lstat(f.path("x"), &st))
		if st.Ctim.Nano() > st.Mtim.Nano() {
			break
		}
	}
	content := func(m Marker) Content {
		t.Helper()
		s := NewScanner(f.dir, []string{"x"})
		s.Believe(0, m)
		all, _, err := s.Scan(time.Now())
		must(t, err)
		if !all[0].Exists || all[0].Changed.IsZero() {
			t.Errorf("%+v", all[0])
		}
		return all[0].Content
	}
	if got := content(Marker{rec.Identity, Exit(5)}); got != Exit(5) {
		t.Errorf("it was read: %v", got)
	}
	other := rec.Identity
	other.MTime++
	if got := content(Marker{other, Exit(5)}); got != Exit(7) {
		t.Errorf("another file was believed: %v", got)
	}
	if got := content(Marker{rec.Identity, Content{}}); got != Exit(7) {
		t.Errorf("no marker was believed: %v", got)
	}
	if got := content(Marker{}); got != Exit(7) {
		t.Errorf("without a belief: %v", got)
	}
	// Written to within one tick of the clock: both times are the same.
	write(t, f.path("x"), "9\n")
	var st unix.Stat_t
	must(t, unix.Lstat(f.path("x"), &st))
	if st.Ctim == st.Mtim {
		if got := content(Marker{identity(&st), Exit(5)}); got != Exit(9) {
			t.Errorf("what was just written was believed: %v", got)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	const n = 10_000
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("node-%05d", i))
	}
	f := newFolder(b, names...)
	for _, name := range names {
		write(b, f.path(name), "0\n")
	}
	b.Run(fmt.Sprintf("files=%d/first", n), func(b *testing.B) {
		for b.Loop() {
			s := NewScanner(f.dir, names)
			if _, _, err := s.Scan(f.now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(fmt.Sprintf("files=%d/again", n), func(b *testing.B) {
		b.ReportAllocs()
		f.scan()
		f.now = f.now.Add(trusted + 1)
		f.scan()
		for b.Loop() {
			f.scan()
		}
	})
	b.Run("look", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Look(5, f.now); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(fmt.Sprintf("floor=lstat/files=%d", n), func(b *testing.B) {
		for b.Loop() {
			for _, name := range names {
				if _, err := os.Lstat(f.path(name)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
