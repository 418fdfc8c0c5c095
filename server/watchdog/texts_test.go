package watchdog

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/server/watch"
)

var update = flag.Bool("update", false, "rewrite testdata")

// What the watch writes to whom.
func TestTexts(t *testing.T) {
	items := []watch.Item{
		{Text: "t4 is blocked: add the table (no database password)", Try: "cmux tasks show t4"},
		{Text: "t7 is done and not merged: sell milk", Try: "cmux tasks merge"},
		{Text: "nobody knows more"},
	}
	many := make([]watch.Item, shownItems+1)
	for i := range many {
		many[i].Text = fmt.Sprintf("item %d", i+1)
	}
	backlog := []watch.Item{{ID: "t12", Title: "write the docs", Text: "t12 is in the backlog: write the docs", Try: "cmux backlog take t12, then cmux tasks assign t12 NAME"}}
	old := []watch.Item{{Text: "t12 is in the backlog: write the docs (cmux backlog take t12)"}}
	still := &watch.Action{Agent: "api", To: "supervisor", Reason: "no progress in a turn", Evidence: []string{"in a turn since 13:40", "no sign in hooks, transcript or processes"}}
	user := *still
	user.To = "user"
	var b strings.Builder
	for _, x := range []struct{ role, about, text string }{
		{"supervisor", "nudge", nudgeSubject(&watch.Action{Items: items}) + "\n\n" + nudgeText(&watch.Action{Items: items, Nth: 1, Of: 3})},
		{"supervisor", "a nudge about many", nudgeSubject(&watch.Action{Items: many}) + "\n\n" + nudgeText(&watch.Action{Items: many, Nth: 3, Of: 3})},
		{"supervisor", "a nudge that an earlier cmux decided", nudgeSubject(&watch.Action{Items: old}) + "\n\n" + nudgeText(&watch.Action{Items: old})},
		{"supervisor", "injection", injectSubject(&watch.Action{Items: backlog}) + "\n\n" + injectText(&watch.Action{Items: backlog})},
		{"supervisor", "an injection that an earlier cmux decided", injectSubject(&watch.Action{Items: old}) + "\n\n" + injectText(&watch.Action{Items: old})},
		{"supervisor", "told of a worker", tellText(still)},
		{"user", "told of an agent", tellText(&user)},
		{"worker", "restarted", relaunchText(still, false)},
		{"supervisor", "restarted", relaunchText(still, true)},
		{"worker", "reset", resetText(still, false)},
		{"supervisor", "reset", resetText(still, true)},
		{"sentry", "its briefing", sentryText(still)},
		{"supervisor", "the sentry is gone", sentryGoneText(&watch.Action{Agent: "supervisor", Reason: "five minutes are over"})},
	} {
		fmt.Fprintf(&b, "===== %s: %s\n%s\n", x.role, x.about, x.text)
	}
	file := filepath.Join("testdata", "texts.txt")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s differs; review with -update and git diff:\n%s", file, b.String())
	}
}
