package rooms

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/room"
)

// A member takes kind and model from its role's file, unless it has a kind of its own.
func TestMemberOfPersona(t *testing.T) {
	p := newRooms(t)
	role(t, p, "reviewer", "---\nkind: scripted\nmodel: large\n---\nYou review.\n")
	role(t, p, "any", "---\nmodel: small\n---\nAnything.\n")
	role(t, p, "other", "---\nkind: nothing\nmodel: large\n---\n")
	for text, want := range map[string]room.Line{
		":reviewer":             {Name: "reviewer", Agent: "scripted", Model: "large", Role: "reviewer"},
		"=rae:reviewer":         {Name: "rae", Agent: "scripted", Model: "large", Role: "reviewer"},
		"scripted:any":          {Name: "scripted", Agent: "scripted", Model: "small", Role: "any"},
		"scripted:other":        {Name: "scripted", Agent: "scripted", Role: "other"}, // its model is of another kind
		"scripted=x:nowhere":    {Name: "x", Agent: "scripted", Role: "nowhere"},
		"scripted=rae:reviewer": {Name: "rae", Agent: "scripted", Model: "large", Role: "reviewer"},
	} {
		l, _, err := p.member(t.Context(), "r", text, false, nil)
		if err != nil {
			t.Error(text, err)
			continue
		}
		if l.Name != want.Name || l.Agent != want.Agent || l.Model != want.Model || l.Role != want.Role {
			t.Errorf("%s: %+v; want %+v", text, l, want)
		}
	}
	s, err := p.Plan(t.Context(), Start{Members: []string{":reviewer", ":reviewer"}})
	if err != nil || s.Lines[1].Name != "reviewer2" {
		t.Errorf("%+v, %v", s, err)
	}
	for text, says := range map[string]string{":nowhere": "names no kind of agent", ":any": "names no kind of agent", ":other": `there is no kind of agent "nothing"`} {
		_, _, err := p.member(t.Context(), "r", text, false, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", text, err, says)
		}
	}
}

func role(t testing.TB, p *Rooms, name, text string) {
	t.Helper()
	dir := filepath.Join(p.Root, ".cmux", "roles")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
