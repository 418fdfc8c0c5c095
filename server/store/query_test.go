package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func seqs(events []Event) (all []int64) {
	for _, e := range events {
		all = append(all, e.Seq)
	}
	return all
}

// A list is what a filter names, page by page, each event once.
func TestList(t *testing.T) {
	root := project(t)
	for i := range 60 {
		name := fmt.Sprintf("runs/r%d/n%d/events.jsonl", i%2+1, i%3)
		line := thought(i, "x")
		if i%5 == 0 {
			line = strings.Replace(line, "thought", "prompt", 1)
		}
		appendTo(t, root, name, line)
	}
	appendTo(t, root, "mailbox", message(100, "m1", "hello"))
	s, _ := opened(t, root)
	ingest(t, s)
	events := all(t, s)
	for _, f := range []Filter{
		{}, {Source: "run:r1/n0"}, {Source: "run:"}, {Source: "run:r2/"}, {Kind: "prompt"},
		{Source: "run:r1/", Kind: "prompt"}, {Source: "mailbox"}, {Source: "run:r"}, {Kind: "none"}, {Source: "agent:"},
		{Kind: "prompt,message"}, {Kind: "message,none,prompt,prompt"}, {Source: "run:r1/", Kind: "message,prompt"}, {Kind: "none,nothing"},
	} {
		var want []int64
		for _, e := range events {
			prefix := strings.HasSuffix(f.Source, ":") || strings.HasSuffix(f.Source, "/")
			if (f.Kind == "" || slices.Contains(strings.Split(f.Kind, ","), e.Kind)) && (f.Source == "" || e.Source == f.Source || prefix && strings.HasPrefix(e.Source, f.Source)) {
				want = append(want, e.Seq)
			}
		}
		for _, limit := range []int{1, 7, 1000} {
			f.Limit = limit
			var up, down []int64
			for f.Before = 0; ; {
				l, err := s.List(t.Context(), f)
				must(t, err)
				down = append(down, seqs(l.Events)...)
				if f.Before = l.Next; !l.More {
					break
				}
			}
			slices.Reverse(down)
			g := f
			for g.After = 1; ; {
				l, err := s.List(t.Context(), g)
				must(t, err)
				up = append(up, seqs(l.Events)...)
				if g.After = l.Next; !l.More {
					break
				}
			}
			if !slices.Equal(down, want) {
				t.Errorf("%+v: %v, want %v", f, down, want)
			}
			if want := slices.DeleteFunc(slices.Clone(want), func(n int64) bool { return n == 1 }); !slices.Equal(up, want) {
				t.Errorf("%+v: %v, want %v", g, up, want)
			}
		}
	}
	if names, err := s.Sources(t.Context(), "run:r1/"); err != nil || len(names) != 3 {
		t.Errorf("%q, %v", names, err)
	}
	if e, err := s.Find(t.Context(), 61); err != nil || e.Name != "m1" {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := s.Find(t.Context(), 62); err != nil || e != nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// hits are those of a search, page by page.
func hits(t *testing.T, s *Store, query string, limit int) (all []string) {
	t.Helper()
	cursor := ""
	for {
		f, err := s.Search(t.Context(), query, limit, cursor)
		must(t, err)
		for _, h := range f.Hits {
			all = append(all, fmt.Sprintf("%s:%d %s %s", h.Path, h.Line, h.Source, h.Text))
		}
		if cursor = f.Cursor; cursor == "" {
			return all
		}
	}
}

func TestSearch(t *testing.T) {
	root := project(t)
	write(t, root, "journal/2026-03-02/journal.md", "# 2026-03-02\n\n## 09:00:00 Tokens\n\nUse sessions, not tokens.\n")
	write(t, root, "../MEMORY.md", "sessions last a week\n")
	write(t, root, "agents/w1/events.jsonl", thought(1, "The Session expires: naïve")+thought(2, "something else")+"no JSON at all\n")
	write(t, root, "mailbox", message(3, "m1", "[DONE] session cookies"))
	s, _ := opened(t, root)
	ingest(t, s)
	for query, want := range map[string]int{
		"session": 4, "SESSION expires": 1, `"expires session"`: 0, `"session expires"`: 1, "naive": 1, "naïve": 1,
		"nothing": 0, "tokens sessions": 1, "[DONE]": 1, "supervisor": 1, `AND OR NOT (`: 0, "x'; drop table events": 0,
	} {
		for _, limit := range []int{1, 2, 100} {
			if got := hits(t, s, query, limit); len(got) != want {
				t.Errorf("%q, %d a page: %q, want %d", query, limit, got, want)
			}
		}
	}
	for _, query := range []string{"", "  ", `"`, "*", "()"} {
		if _, err := s.Search(t.Context(), query, 0, ""); !errors.Is(err, ErrQuery) {
			t.Errorf("%q: %v", query, err)
		}
	}
	for _, cursor := range []string{"x", "e", "p1x", "1"} {
		if _, err := s.Search(t.Context(), "session", 0, cursor); !errors.Is(err, ErrCursor) {
			t.Errorf("%q: %v", cursor, err)
		}
	}
	// A page is found as it is now.
	write(t, root, "journal/2026-03-02/journal.md", "# 2026-03-02\n\n## 09:00:00 Tokens\n\nUse cookies.\n")
	write(t, root, "../MEMORY.md", "")
	ingest(t, s)
	if got := hits(t, s, "session", 10); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := hits(t, s, "cookies", 10); len(got) != 2 || !strings.HasPrefix(got[0], ".cmux/journal/2026-03-02/journal.md:5 journal") {
		t.Errorf("%q", got)
	}
}

// Follow notices everything that is appended, in any folder.
func TestFollow(t *testing.T) {
	root := project(t)
	s, _ := opened(t, root)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Follow(ctx) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()
	// The slow look comes only after two seconds, so this is from a notification.
	begin := time.Now()
	n := 0
	hear := func(path string) {
		t.Helper()
		changed := s.Changed()
		if s.Head().Seq != int64(n) {
			t.Fatalf("%s: %+v of %d", path, s.Head(), n)
		}
		n++
		appendTo(t, root, path, thought(n, "x"))
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatalf("%s: nothing is told", path)
		}
	}
	for _, path := range []string{"mailbox", "runs/r1/api/events.jsonl", "runs/r1/api/events.jsonl", "agents/w1/events.jsonl", "tasks.jsonl", "runs/r1/web/events.jsonl", "mailbox", "agents/w1/events.jsonl"} {
		hear(path)
	}
	// A folder is there long before its file.
	must(t, os.MkdirAll(filepath.Join(root, ".cmux/runs/r2/api"), 0o700))
	eventually(t, "the folder to be watched", func() bool {
		s.ingest.Lock()
		defer s.ingest.Unlock()
		return slices.ContainsFunc(s.what.sources, func(src source) bool { return src.label == "run:r2/api" })
	})
	hear("runs/r2/api/events.jsonl")
	must(t, os.Rename(filepath.Join(root, ".cmux/mailbox"), filepath.Join(root, ".cmux/mailbox.000001")))
	hear("mailbox")
	hear("mailbox")
	t.Logf("%d events in %v", n, time.Since(begin))
}

func TestPause(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: 2 * time.Second, 10 * time.Millisecond: 2 * time.Second, 100 * time.Millisecond: 10 * time.Second, 5 * time.Second: 30 * time.Second} {
		if got := pause(took); got != want {
			t.Errorf("after %s: %s, want %s", took, got, want)
		}
	}
}
