package rooms

import (
	"slices"
	"testing"

	"cmux/agents/room"
)

func TestFind(t *testing.T) {
	all := []View{
		{Room: About{Name: "auth", Topic: "Where to keep Sessions", Policy: room.Once, Label: "settled", Last: "SQLite fits."}, Members: []Member{{Name: "ann", Kind: "claude", Role: "reviewer"}}},
		{Room: About{Name: "build", Label: "paused"}, Members: []Member{{Name: "bob", Kind: "codex"}}},
	}
	for text, want := range map[string][]string{
		"": {"auth", "build"}, "  ": {"auth", "build"}, "AUTH": {"auth"}, "sessions ann": {"auth"}, "sqlite": {"auth"}, "reviewer": {"auth"}, "codex paused": {"build"}, "once": {"auth"},
		"ann codex": {}, // of two rooms
		"nowhere":   {},
		"authwhere": {}, // across two fields
	} {
		got := []string{}
		for _, v := range Find(all, text) {
			got = append(got, v.Room.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %v; want %v", text, got, want)
		}
	}
}
