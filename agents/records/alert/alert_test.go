package alert

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/records/ledger"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

// Whatever agents do, no window has more alerts than the limits allow, and none is repeated
// in it. An agent that sends none for a window may alert again.
func TestAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1e9, 0)
		var told []Alert
		for i := range rapid.IntRange(1, 80).Draw(t, "alerts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "s")) * time.Second)
			a := Alert{At: now, By: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "user"}).Draw(t, "by"), Text: fmt.Sprint(i % rapid.IntRange(1, 40).Draw(t, "same"))}
			err := Allow(told, a)
			each, all, same := 0, 0, false
			for _, b := range told {
				if now.Sub(b.At) > Window || b.By == "user" {
					continue
				}
				all++
				same = same || b.Text == a.Text
				if b.By == a.By {
					each++
				}
			}
			if may := a.By == "user" || each < Each && all < All && !same; (err == nil) != may {
				t.Fatalf("%+v: %v, with %d, %d, %v before", a, err, each, all, same)
			}
			if err == nil {
				told = append(told, a)
			}
		}
	})
}

func TestRecord(t *testing.T) {
	root := t.TempDir()
	now := time.Unix(1e9, 0)
	for i := range Each + 2 {
		_, err := Record(t.Context(), root, Alert{At: now, By: "api", Level: Warning, Text: fmt.Sprint("the build is red ", i)})
		if (err != nil) != (i >= Each) || err != nil && !strings.Contains(err.Error(), "api has alerted 5 times") {
			t.Errorf("%d: %v", i, err)
		}
	}
	for range 2 { // a keeper that is killed before it answered
		if _, err := Record(t.Context(), root, Alert{ID: "q1", At: now, By: "web", Level: Warning, Text: "the disk is full"}); err != nil {
			t.Error(err)
		}
	}
	for want, a := range map[string]Alert{"not a level": {Level: "loud", Text: "x"}, "one line": {Level: Info, Text: "a\nb"}} {
		if _, err := Record(t.Context(), root, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The newest alerts stay when the file is shortened, and copies of older ones do not count.
func TestShort(t *testing.T) {
	l := new(List)
	for n := 1; n <= 3*kept; n++ {
		l.Alerts = append(l.Alerts, Alert{N: n, By: "a", Text: "x"})
	}
	lines, err := l.short()
	if err != nil || len(lines) != kept {
		t.Fatal(len(lines), err)
	}
	short := new(List)
	for _, line := range lines {
		if err := short.Take(line); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(short.Alerts, l.Alerts[2*kept:]) || !errors.Is(short.Take([]byte(`{"n":1,"text":"x"}`)), ledger.ErrCopy) {
		t.Errorf("%+v", short)
	}
}

// Copies of an alert do not block the agents: they do not count.
func TestCopiedLines(t *testing.T) {
	root := t.TempDir()
	a := Alert{At: time.Unix(1e9, 0), By: "api", Level: Warning, Text: "the build is red"}
	if _, err := Record(t.Context(), root, a); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, ".cmux", Name)
	line, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Repeat(line, All+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		a.Text = fmt.Sprint("another ", i)
		if aside, err := Record(t.Context(), root, a); err != nil || (aside != "") != want {
			t.Errorf("%d: %q %v", i, aside, err)
		}
	}
}
