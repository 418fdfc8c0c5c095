package unfinished

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"cmux/signals"
)

// newText is a text in a project whose server watches, by a clock of its own.
func newText(t *testing.T) (text *Text, now func() Piece) {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(signals.Init(root), signals.MkdirAll(Dir(root), 0o700)); err != nil {
		t.Fatal(err)
	}
	text = New(root, "design.ada")
	t.Cleanup(text.Close)
	return text, func() Piece {
		t.Helper()
		time.Sleep(Every) // of the bubble's clock
		synctest.Wait()
		p, err := Read(filepath.Join(Dir(root), "design.ada"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func TestText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, now := newText(t)
		want := func(s string) {
			t.Helper()
			if p := now(); p.Text != s {
				t.Errorf("%q, want %q", p.Text, s)
			}
		}
		want("")
		text.Say("Post")
		want("Post")
		text.Say("gres, ")
		text.Say("as two write.")
		want("Postgres, as two write.")

		// Its event is there: it is gone at once.
		at := time.Now()
		text.Finished("Postgres, as two write.\n", at)
		want("")
		if p := now(); !p.Since.Equal(at) {
			t.Errorf("since %v, want %v", p.Since, at)
		}

		// The event of a complete text comes when the next one has begun already.
		text.Begin()
		text.Say("First.")
		text.End()
		text.Begin()
		want("First.")
		text.Say("Sec")
		text.Finished("First.", at.Add(time.Second))
		want("Sec")
		text.Say("ond.")
		text.End()
		text.Finished("whatever became of it", at.Add(2*time.Second))
		want("")

		// The request failed and is repeated: the text starts again.
		text.Begin()
		text.Say("MyS")
		text.Begin()
		text.Say("SQLite")
		want("SQLite")

		// The turn is broken off.
		text.Clear()
		want("")
		if p := now(); !p.Since.Equal(at.Add(2 * time.Second)) {
			t.Errorf("since %v", p.Since)
		}
	})
}

func TestTextIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, now := newText(t)
		text.Say("Begin ")
		for range 10_000 {
			text.Say("ö\x01\"")
		}
		p := now()
		if len(p.Text) > MaxText || len(p.Text) < MaxText-4 || !p.Cut || !utf8.ValidString(p.Text) || !strings.HasSuffix(p.Text, "ö\x01\"") {
			t.Errorf("%d bytes, cut %v", len(p.Text), p.Cut)
		}
		if len(text.tail) > 2*MaxText {
			t.Errorf("%d bytes are kept", len(text.tail))
		}
		text.Finished("Begin "+strings.Repeat("ö\x01\"", 10_000), time.Now())
		if p := now(); p.Text != "" || p.Cut {
			t.Errorf("%d bytes are left", len(p.Text))
		}
	})
}

// However fast a program writes, the file is written ten times a second, and what comes last
// is in it.
func TestTextIsWrittenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, now := newText(t)
		now()
		written := 0
		var last os.FileInfo
		begin := time.Now()
		for range 3000 { // 3 seconds
			text.Say("x")
			time.Sleep(time.Millisecond)
			synctest.Wait()
			info, err := os.Stat(text.path)
			if err != nil {
				t.Fatal(err)
			}
			if last != nil && info.Size() != last.Size() {
				written++
			}
			last = info
		}
		if took := time.Since(begin); took != 3*time.Second || written < 28 || written > 30 {
			t.Errorf("written %d times in %v", written, took)
		}
		if p := now(); p.Text != strings.Repeat("x", 3000) {
			t.Errorf("%d bytes", len(p.Text))
		}
	})
}

func TestTextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text, now := newText(t)
		text.Say("Half a tho")
		now()
		text.Say("ught")
		text.Close() // a write is due
		if p, err := Read(text.path); err != nil || p.Text != "" {
			t.Errorf("%+v, %v", p, err)
		}
		text.Say("late")
		if p := now(); p.Text != "" {
			t.Errorf("%q after the end", p.Text)
		}
	})
}

// What a life that was killed had written is gone when the next one begins.
func TestTextBeginsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed, now := newText(t)
		killed.Say("Half a tho")
		if now().Text == "" {
			t.Fatal("nothing was written")
		}
		next := New(strings.TrimSuffix(filepath.Dir(killed.path), filepath.Join("/", signals.Folder, Folder)), "design.ada")
		defer next.Close()
		if p := now(); p.Text != "" {
			t.Errorf("%q", p.Text)
		}
	})
}

// Without a server, with a disk that is full, or for an agent that is in no room, nothing is
// written, and nobody is told.
func TestTextNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		if err := signals.Init(root); err != nil {
			t.Fatal(err)
		}
		text := New(root, "design.ada")
		text.Say("Postgres")
		time.Sleep(time.Second)
		synctest.Wait()
		text.Close()
		if _, err := os.Lstat(Dir(root)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder is there: %v", err)
		}
		var none *Text
		none.Begin()
		none.Say("x")
		none.End()
		none.Finished("x", time.Now())
		none.Clear()
		none.Close()
	})
}
