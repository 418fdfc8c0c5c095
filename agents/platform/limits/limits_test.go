package limits

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	now  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	shop = Source{Project: "/p/shop", Session: "s", Run: "1", Node: "api"}
	mall = Source{Project: "/p/mall", Session: "m", Run: "2", Node: "web"}
)

func met(by Source, at, until time.Time) State {
	return State{Account: "claude", Until: until, By: by, Said: "resets later", At: at}
}

func tell(t *testing.T, dir string, s State, force bool, now time.Time) *State {
	t.Helper()
	is, err := Tell(dir, s, force, now)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// TestTell: of the findings of several runs, the most recent one is shared.
func TestTell(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "limits")
	if is := tell(t, dir, State{Account: "claude", Free: true, By: shop, At: now}, false, now); is != nil {
		t.Errorf("that nothing is met was told: %+v", is)
	}
	first := tell(t, dir, met(shop, now, now.Add(time.Hour)), false, now)
	if first == nil || first.ID == "" || first.By != shop {
		t.Fatalf("met: %+v", first)
	}
	if is := tell(t, dir, met(mall, now, now.Add(time.Minute)), false, now); is.ID != first.ID {
		t.Errorf("one that ends sooner took its place: %+v", is)
	}
	longer := tell(t, dir, met(mall, now, now.Add(2*time.Hour)), false, now)
	if longer.ID == first.ID || longer.By != mall {
		t.Errorf("one that lasts longer did not: %+v", longer)
	}
	released := tell(t, dir, met(shop, now, now), true, now)
	if is, err := Read(dir, "claude", now); err != nil || is.ID != released.ID || is.Until.After(now) {
		t.Errorf("a person's word did not count: %+v, %v", is, err)
	}
	again := tell(t, dir, met(mall, now, now.Add(time.Hour)), false, now)
	later := now.Add(time.Minute)
	free := tell(t, dir, State{Account: "claude", Free: true, By: shop, At: later}, false, later)
	if free.ID == again.ID || !free.Free {
		t.Errorf("it works again: %+v", free)
	}
	// Found out before that, but reported later by a slow runner.
	if is := tell(t, dir, met(mall, now, now.Add(time.Hour)), false, later); is.ID != free.ID {
		t.Errorf("what is over was told: %+v", is)
	}
	if is := tell(t, dir, met(mall, later.Add(time.Second), now.Add(time.Hour)), false, later.Add(time.Second)); is.ID == free.ID {
		t.Errorf("a new limit was not recorded: %+v", is)
	}
	if is := tell(t, dir, met(mall, now, now.AddDate(3, 0, 0)), false, now); is.Until.After(now.Add(MaxAhead)) {
		t.Errorf("told of years: %+v", is)
	}
	if info, err := os.Stat(Path(dir, "claude")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	if all, err := All(dir, now); err != nil || len(all) != 1 {
		t.Errorf("all: %v, %v", all, err)
	}
}

// TestNoSuchFile: anything else in the place of a file is ignored, reported, and replaced
// by the next Tell.
func TestNoSuchFile(t *testing.T) {
	ends := now.Add(time.Hour).Format(time.RFC3339)
	write := func(content string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	valid := `{"id":"x","account":"claude","until":"` + ends + `","by":{"project":"/p","session":"s","run":"1"},"at":"` + now.Format(time.RFC3339) + `"}`
	for what, c := range map[string]struct {
		make func(path string) error
		says string
	}{
		"empty":            {write(""), "the file is damaged"},
		"cut short":        {write(valid[:40]), "the file is damaged"},
		"nothing in it":    {write("{}"), "the file is damaged"},
		"of another":       {write(strings.Replace(valid, "claude", "codex", 1)), "the file is damaged"},
		"years ahead":      {write(strings.Replace(valid, ends, "2099-01-01T00:00:00Z", 1)), "until 2099-01-01 is not plausible"},
		"too large":        {write(valid + strings.Repeat(" ", maxFile)), "the file is too large"},
		"others may write": {func(p string) error { return os.WriteFile(p, []byte(valid), 0o622) }, "other users may write to the file"},
		"a folder":         {func(p string) error { return os.Mkdir(p, 0o700) }, "not a regular file"},
		"a link": {func(p string) error {
			return os.Symlink(filepath.Join(filepath.Dir(p), "elsewhere"), p)
		}, "the file is a link"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "elsewhere"), []byte(valid), 0o600); err != nil {
			t.Fatal(err)
		}
		path := Path(dir, "claude")
		if err := c.make(path); err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, modeOf(what))
		if is, err := Read(dir, "claude", now); is != nil || err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %+v, %v", what, is, err)
		}
		if all, err := All(dir, now); len(all) != 0 || err == nil {
			t.Errorf("%s, among all: %+v, %v", what, all, err)
		}
		if what == "a folder" {
			continue // nothing can replace it
		}
		if is, err := Tell(dir, met(shop, now, now.Add(time.Hour)), false, now); err != nil || is == nil || is.By != shop {
			t.Errorf("%s, replaced: %+v, %v", what, is, err)
		}
		if is, err := Read(dir, "claude", now); err != nil || is == nil {
			t.Errorf("%s, replaced and read: %+v, %v", what, is, err)
		}
	}
}

func modeOf(what string) os.FileMode {
	switch what {
	case "others may write":
		return 0o622
	case "a folder":
		return 0o700
	}
	return 0o600
}

// TestClockSetBack: a limit written with a clock that was ahead lasts as long as it did
// then, not until that clock's time comes.
func TestClockSetBack(t *testing.T) {
	dir := t.TempDir()
	ahead := now.AddDate(1, 0, 0)
	tell(t, dir, met(shop, ahead, ahead.Add(time.Hour)), false, ahead)
	is, err := Read(dir, "claude", now)
	if err != nil || is == nil || !is.Until.Equal(now.Add(time.Hour)) {
		t.Errorf("set back by a year: %+v, %v", is, err)
	}
	if is, err := Read(dir, "claude", ahead.AddDate(1, 0, 0)); err != nil || is.Until.After(ahead.Add(time.Hour)) {
		t.Errorf("set on by a year: %+v, %v", is, err)
	}
}

// TestManyTell: concurrent writers leave one whole state, the most recent one.
func TestManyTell(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "limits")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			if _, err := Tell(dir, met(shop, now, now.Add(time.Duration(i+1)*time.Minute)), false, now); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if is, err := Read(dir, "claude", now); err != nil || !is.Until.Equal(now.Add(40*time.Minute)) {
		t.Errorf("%+v, %v", is, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // and the lock
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestPath(t *testing.T) {
	seen := make(map[string]bool)
	for _, account := range []string{"claude", "Claude", "claude /home/a", "claude -home-a", "../../x", strings.Repeat("long", 200), "é\n"} {
		p := Path("/d", account)
		if filepath.Dir(p) != "/d" || len(filepath.Base(p)) > 100 || seen[p] {
			t.Errorf("%q: %s", account, p)
		}
		seen[p] = true
	}
}
