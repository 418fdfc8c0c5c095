package claude

import (
	"testing"

	"cmux/agents/kinds/news"
)

// A screen is told to the conversation as what keys would meet there: what cmux
// has put into the prompt is no line of a person's.
func TestShows(t *testing.T) {
	mine := func(draft string) bool { return draft == "mine" }
	for _, c := range []struct {
		screen    screen
		reachable bool
		want      news.Screen
	}{
		{screen{Prompt: true}, true, news.EmptyPrompt{}},
		{screen{Prompt: true, Draft: "mine"}, true, news.OwnDraft{}},
		{screen{Prompt: true, Draft: "a person's"}, true, news.Draft{}},
		{screen{Prompt: true}, false, news.CopyMode{}},
		{screen{Prompt: true, Draft: "mine"}, false, news.CopyMode{}},
		{screen{Prompt: true, Dialog: "trust"}, true, news.Dialog{Name: "trust", Says: firstRun["trust"]}},
		{screen{Dialog: "trust"}, true, news.Dialog{Name: "trust", Says: firstRun["trust"]}},
		{screen{}, true, news.UnknownScreen{}},
		{screen{Draft: "mine"}, true, news.UnknownScreen{}},
	} {
		if got := c.screen.shows(c.reachable, mine); got != c.want {
			t.Errorf("%+v, reachable %v: %#v, want %#v", c.screen, c.reachable, got, c.want)
		}
	}
}
