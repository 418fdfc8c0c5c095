package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"cmux/signals"
)

func open(t *testing.T) (*Log, string) {
	t.Helper()
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	return &Log{Root: root, Now: time.Now}, filepath.Join(root, signals.Folder)
}

// read returns the lines of all files, oldest first. Every line is JSON.
func read(t *testing.T, dir string) (all []Line) {
	t.Helper()
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := signals.ReadLog(filepath.Join(dir, f), 0, func(b []byte, _ int64) error {
			var l Line
			if err := json.Unmarshal(b, &l); err != nil {
				return err
			}
			all = append(all, l)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestLinesAreBounded(t *testing.T) {
	l, dir := open(t)
	if err := l.Append(t.Context(), Line{Agent: "api", Tool: "Bash", Input: "ls\x1b[2J\u202e", Result: strings.Repeat("ä", 2000)}); err != nil {
		t.Fatal(err)
	}
	all := read(t, dir)
	if len(all) != 1 || utf8.RuneCountInString(all[0].Result) != MaxResult || all[0].At.IsZero() {
		t.Errorf("%+v", all)
	}
	b, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil || strings.ContainsAny(string(b), "\x1b\u202e") {
		t.Errorf("what a terminal obeys stands in it: %q, %v", b, err)
	}
	if info, err := os.Stat(filepath.Join(dir, Name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

// Writers of several processes lose no line when the file is set aside.
func TestSetAside(t *testing.T) {
	l, dir := open(t)
	const writers, each = 4, 30
	fill := func() {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, Name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := fmt.Fprintf(f, "{\"order\":%q}\n", strings.Repeat("x", MaxFile)); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			own := &Log{Root: l.Root, Now: time.Now}
			for i := range each {
				if err := own.Append(context.Background(), Line{Order: fmt.Sprint(w, "/", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	fill()
	if err := l.Append(t.Context(), Line{Order: "last"}); err != nil {
		t.Fatal(err)
	}
	files, err := Files(dir)
	if err != nil || fmt.Sprint(files) != "[audit.log.1 audit.log.2 audit.log]" {
		t.Errorf("%v, %v", files, err)
	}
	seen := map[string]int{}
	for _, line := range read(t, dir) {
		seen[line.Order]++
	}
	for w := range writers {
		for i := range each {
			if n := seen[fmt.Sprint(w, "/", i)]; n != 1 {
				t.Errorf("%d/%d stands there %d times", w, i, n)
			}
		}
	}
	if seen["last"] != 1 {
		t.Error("the last line is lost")
	}
}

// A line cut by a kill is ignored, and the next one is whole.
func TestTornLine(t *testing.T) {
	l, dir := open(t)
	if err := l.Append(t.Context(), Line{Order: "one"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Name)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) {
		if err := os.WriteFile(path, append(append([]byte{}, whole...), whole[:cut]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(t.Context(), Line{Order: "two"}); err != nil {
			t.Fatal(err)
		}
		all := read(t, dir)
		if first, last := all[0], all[len(all)-1]; first.Order != "one" || last.Order != "two" {
			t.Fatalf("cut after %d bytes: %+v", cut, all)
		}
	}
}

// Lines that cannot be written are counted.
func TestMissing(t *testing.T) {
	l, dir := open(t)
	path := filepath.Join(dir, Name)
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if l.Append(t.Context(), Line{Order: "lost"}) == nil {
			t.Fatal("it was written through a link")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), Line{Order: "kept"}); err != nil {
		t.Fatal(err)
	}
	if all := read(t, dir); len(all) != 1 || all[0].Missing != 3 {
		t.Errorf("%+v", all)
	}
}
