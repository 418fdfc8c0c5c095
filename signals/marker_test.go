package signals

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/testkit/agenttest/fuzzing"
)

var markerCases = []struct {
	in   string
	want Content
}{
	{"", Content{Kind: Empty}},
	{"0\n", Exit(0)}, {"0", Exit(0)}, {" 0 ", Exit(0)}, {"0\r\n", Exit(0)}, {"\t\v\f\n0\n\n", Exit(0)},
	{"1\n", Exit(1)}, {"99\n", Exit(99)}, {"124\n", Exit(124)}, {"130\n", Exit(130)}, {"255", Exit(255)},
	{"256", Content{}}, {"999", Content{}}, {"1000", Content{}}, {strings.Repeat("0", 60), Content{}},
	{"+1", Content{}}, {"-1", Content{}}, {"00", Content{}}, {"01", Content{}}, {"0x1", Content{}}, {"1.0", Content{}},
	{"1 2", Content{}}, {"1\n2\n", Content{}}, {"done", Content{}}, {"0 done", Content{}}, {"\x00", Content{}},
	{"\x00\x00", Content{}}, {"0\x00", Content{}}, {"\ufeff0", Content{}}, {"０", Content{}}, {"\u00a00", Content{}},
	{"\n", Content{}}, {" ", Content{}},
	{strings.Repeat(" ", 63) + "0", Exit(0)}, {strings.Repeat(" ", 64) + "0", Content{}},
}

func TestParseMarker(t *testing.T) {
	for _, c := range markerCases {
		if got := ParseMarker([]byte(c.in)); got != c.want {
			t.Errorf("ParseMarker(%q) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// A marker is a code exactly if it holds, apart from white space around it, what strconv
// prints for a number from 0 to 255. What cmux writes is read back unchanged.
func FuzzParseMarker(f *testing.F) {
	for _, c := range markerCases {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got := ParseMarker(in)
		want := Content{}
		trimmed := strings.Trim(string(in), " \t\n\v\f\r")
		n, err := strconv.Atoi(trimmed)
		switch {
		case len(in) == 0:
			want = Content{Kind: Empty}
		case len(in) <= 64 && err == nil && n >= 0 && n <= 255 && strconv.Itoa(n) == trimmed:
			want = Exit(n)
		}
		if got != want {
			t.Errorf("ParseMarker(%q) = %v, want %v", in, got, want)
		}
		if got.Kind != Bad {
			if again := ParseMarker(got.bytes()); again != got {
				t.Errorf("%v written and read is %v", got, again)
			}
		}
	})
}

func TestMarkerJSON(t *testing.T) {
	for _, c := range []Content{{}, {Kind: Empty}, Exit(0), Exit(137)} {
		m := Marker{Identity: Identity{Inode: 1<<63 + 1, Size: 2, MTime: 1764000000123456789}, Content: c}
		b, err := json.Marshal(m)
		must(t, err)
		var back Marker
		must(t, json.Unmarshal(b, &back))
		if back != m {
			t.Errorf("%s reads back as %+v", b, back)
		}
	}
	var c Content
	if err := c.UnmarshalText([]byte("256")); err == nil {
		t.Error("256 was taken")
	}
}

// inBothWays runs a test with unnamed files, if the system has them, and with hidden ones.
func inBothWays(t *testing.T, test func(t *testing.T, prepare func(dir, name string, code int) (*Pending, error))) {
	t.Run("usual", func(t *testing.T) { test(t, Prepare) })
	t.Run("hidden file", func(t *testing.T) {
		test(t, func(dir, name string, code int) (*Pending, error) {
			return prepareNamed(filepath.Join(dir, name+Suffix), Exit(code))
		})
	})
}

func TestMarkerIsKnownBeforeItIsSeen(t *testing.T) {
	inBothWays(t, func(t *testing.T, prepare func(string, string, int) (*Pending, error)) {
		dir := t.TempDir()
		p, err := prepare(dir, "auth", 7)
		must(t, err)
		if _, err := os.Stat(filepath.Join(dir, "auth.done")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("before Publish: %v", err)
		}
		must(t, p.Publish())
		p.Discard()
		if got := list(t, dir); !reflect.DeepEqual(got, []string{"auth.done"}) {
			t.Errorf("folder holds %v", got)
		}
		o, err := NewScanner(dir, []string{"auth"}).Look(0, time.Now())
		must(t, err)
		if o.Marker != (Marker{p.Identity(), Exit(7)}) {
			t.Errorf("seen %+v, want %+v", o.Marker, p.Identity())
		}
		if got := read(t, filepath.Join(dir, "auth.done")); got != "7\n" {
			t.Errorf("holds %q", got)
		}
		if err := p.Publish(); err == nil {
			t.Error("published twice")
		}
	})
}

func TestTheFirstMarkerStands(t *testing.T) {
	inBothWays(t, func(t *testing.T, prepare func(string, string, int) (*Pending, error)) {
		dir := t.TempDir()
		var wg sync.WaitGroup
		var won atomic.Int64
		var winner atomic.Pointer[Pending]
		for i := range 100 {
			wg.Go(func() {
				p, err := prepare(dir, "x", i)
				if err != nil {
					t.Error(err)
					return
				}
				switch err := p.Publish(); {
				case err == nil:
					won.Add(1)
					winner.Store(p)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d of 100 won", won.Load())
		}
		o, err := NewScanner(dir, []string{"x"}).Look(0, time.Now())
		must(t, err)
		if o.Identity != winner.Load().Identity() {
			t.Error("the marker is not the winner's")
		}
		if got := list(t, dir); len(got) != 1 {
			t.Errorf("folder holds %v", got)
		}
	})
}

// A person's touch and a node's end happen at the same moment: one marker is there, whole,
// and the other writer gets an error.
func TestOverrideRacesTheEnd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.done")
	for range 200 {
		p, err := Prepare(dir, "x", 1)
		must(t, err)
		var wg sync.WaitGroup
		var touched, published error
		wg.Go(func() {
			f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if touched = err; err == nil {
				f.Close()
			}
		})
		wg.Go(func() { published = p.Publish() })
		wg.Wait()
		if (touched == nil) == (published == nil) {
			t.Fatalf("touch: %v, publish: %v", touched, published)
		}
		o, err := NewScanner(dir, []string{"x"}).Look(0, time.Now())
		must(t, err)
		rec := Recorded{Known: true, Marker: Marker{p.Identity(), Exit(1)}}
		want := Ours
		if touched == nil {
			want = Override
		}
		if got := Judge(rec, o, o.Since.Add(Settle)); got.Kind != want {
			t.Fatalf("judged %v, want %v", got.Kind, want)
		}
		must(t, Remove(dir, "x"))
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	inBothWays(t, func(t *testing.T, prepare func(string, string, int) (*Pending, error)) {
		dir := t.TempDir()
		p, err := prepare(dir, "x", 0)
		must(t, err)
		p.Discard()
		p.Discard()
		if got := list(t, dir); got != nil {
			t.Errorf("folder holds %v", got)
		}
	})
}

func TestMarkersLeakNoDescriptors(t *testing.T) {
	inBothWays(t, func(t *testing.T, prepare func(string, string, int) (*Pending, error)) {
		dir := t.TempDir()
		fd := func() int { // the lowest free descriptor
			f, err := os.Open(dir)
			must(t, err)
			defer f.Close()
			return int(f.Fd())
		}
		before := fd()
		for range 20 {
			p, err := prepare(dir, "x", 0)
			must(t, err)
			p.Publish()
			p, err = prepare(dir, "x", 0)
			must(t, err)
			p.Discard()
		}
		if after := fd(); after != before {
			t.Errorf("lowest free descriptor was %d, is %d", before, after)
		}
	})
}

func TestReplaceAndRemove(t *testing.T) {
	dir := t.TempDir()
	s := NewScanner(dir, []string{"x"})
	for _, c := range []Content{Exit(99), {Kind: Empty}, Exit(0)} {
		id, err := Replace(dir, "x", c)
		must(t, err)
		o, err := s.Look(0, time.Now())
		must(t, err)
		if o.Marker != (Marker{id, c}) {
			t.Errorf("seen %+v, want %+v %v", o.Marker, id, c)
		}
	}
	must(t, Remove(dir, "x"))
	must(t, Remove(dir, "x"))
	if got := list(t, dir); got != nil {
		t.Errorf("folder holds %v", got)
	}
}

// Only the marker that was meant goes: not one that was touched or written meanwhile.
func TestRemoveOnlyWhatWasMeant(t *testing.T) {
	dir := t.TempDir()
	s := NewScanner(dir, []string{"x"})
	path := filepath.Join(dir, "x"+Suffix)
	must(t, RemoveOnly(dir, "x", Identity{}))
	for what, change := range map[string]func(){
		"nothing": func() {},
		"touched": func() { must(t, os.Chtimes(path, time.Time{}, time.Unix(1, 0))) },
		"written": func() { must(t, os.WriteFile(path, []byte("0\n"), 0o644)) },
		"replaced": func() {
			_, err := Replace(dir, "x", Exit(99))
			must(t, err)
		},
	} {
		id, err := Replace(dir, "x", Exit(99))
		must(t, err)
		change()
		before, err := s.Look(0, time.Now())
		must(t, err)
		must(t, RemoveOnly(dir, "x", id))
		after, err := s.Look(0, time.Now())
		must(t, err)
		if after.Exists != (what != "nothing") || after.Exists && after.Marker != before.Marker {
			t.Errorf("%s: %+v, and then %+v", what, before, after)
		}
		must(t, Remove(dir, "x"))
		if got := list(t, dir); got != nil {
			t.Errorf("%s: folder holds %v", what, got)
		}
	}
	must(t, os.Mkdir(path, 0o755))
	o, err := s.Look(0, time.Now())
	must(t, err)
	if err := RemoveOnly(dir, "x", o.Identity); err == nil || !slices.Equal(list(t, dir), []string{"x" + Suffix}) {
		t.Errorf("of a folder: %v, which leaves %v", err, list(t, dir))
	}
}

func TestMarkerRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"", "../x", "a/b", ".hidden", "a\x00b"} {
		if _, err := Prepare(dir, name, 0); err == nil {
			t.Errorf("name %q was taken", name)
		}
		if _, err := Replace(dir, name, Exit(0)); err == nil {
			t.Errorf("Replace took name %q", name)
		}
		if err := Remove(dir, name); err == nil {
			t.Errorf("Remove took name %q", name)
		}
	}
	for _, code := range []int{-1, 256} {
		if _, err := Prepare(dir, "x", code); err == nil {
			t.Errorf("code %d was taken", code)
		}
	}
	if _, err := Replace(dir, "x", Content{}); err == nil {
		t.Error("bad content was written")
	}
	if _, err := Prepare(filepath.Join(dir, "none"), "x", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	if got := list(t, dir); got != nil {
		t.Errorf("folder holds %v", got)
	}
	must(t, os.Mkdir(filepath.Join(dir, "x.done"), 0o755))
	p, err := Prepare(dir, "x", 0)
	must(t, err)
	if err := p.Publish(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto a folder: %v", err)
	}
}

func TestPublishAfterItsFolderWasMadeAnew(t *testing.T) {
	fd, ok := openUnnamed(t.TempDir())
	if !ok {
		t.Skip("no unnamed files here")
	}
	unix.Close(fd)
	dir := filepath.Join(t.TempDir(), "signals")
	must(t, os.Mkdir(dir, 0o755))
	p, err := Prepare(dir, "x", 0)
	must(t, err)
	must(t, os.Remove(dir))
	must(t, os.Mkdir(dir, 0o755))
	must(t, p.Publish())
	p, err = Prepare(dir, "y", 0)
	must(t, err)
	must(t, os.RemoveAll(dir))
	if err := p.Publish(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into a missing folder: %v", err)
	}
}

// Of those who create a file at the same time, one does, and the others find all of it.
func TestWriteNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	made := make(chan error)
	for range 20 {
		go func() { made <- WriteNew(path, []byte("whole"), 0o600) }()
	}
	wins := 0
	for range 20 {
		err := <-made
		if b, _ := os.ReadFile(path); string(b) != "whole" {
			t.Errorf("found %q", b)
		}
		if err == nil {
			wins++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); wins != 1 || len(left) != 1 {
		t.Errorf("%d created it, and %v is left", wins, left)
	}
}
