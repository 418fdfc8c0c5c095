package persona

import "testing"

func TestParse(t *testing.T) {
	for file, want := range map[string][3]string{
		"":              {"", "", ""},
		"You review.\n": {"", "", "You review.\n"},
		"---\nkind: codex\nmodel: 'gpt: 5'\n---\nYou review.\n": {"codex", "gpt: 5", "You review.\n"},
		"---\r\nkind: codex\r\n---\r\nYou review.\r\n":          {"codex", "", "You review.\r\n"},
		"---\n---\nYou review.":                                 {"", "", "You review."},
		"---\nYou review.\n":                                    {"", "", "---\nYou review.\n"},            // a rule, which nothing ends
		"---\nno mapping\n---\nx":                               {"", "", "---\nno mapping\n---\nx"},       // two rules
		"---\nkind: [a]\n---\nx":                                {"", "", "---\nkind: [a]\n---\nx"},        // nothing that a kind can be
		"Text\n---\nkind: codex\n---\n":                         {"", "", "Text\n---\nkind: codex\n---\n"}, // not at its begin
	} {
		p := Parse(file)
		if got := [3]string{p.Kind, p.Model, p.Text}; got != want {
			t.Errorf("%q: %q; want %q", file, got, want)
		}
	}
}

// What is written is read again as it was, and what the head says beside it stays.
func TestFile(t *testing.T) {
	for _, c := range []struct{ was, kind, model, text, want string }{
		{"", "", "", "You review.", "You review.\n"},
		{"", "codex", "", "You review.\n", "---\nkind: codex\n---\nYou review.\n"},
		{"---\nkind: codex\nname: Ada\n---\nold", "", "a: b", "new", "---\nmodel: 'a: b'\nname: Ada\n---\nnew\n"},
		{"---\nkind: codex\n---\nold", "", "", "new", "new\n"},
		{"", "", "", "---\nkind: x\n---\n", "---\n---\n---\nkind: x\n---\n"}, // a text that begins like a head is none
		{"", "yes", "1", "x", "---\nkind: \"yes\"\nmodel: \"1\"\n---\nx\n"},
	} {
		got := Parse(c.was).With(c.kind, c.model, c.text).File()
		if got != c.want {
			t.Errorf("%q: %q; want %q", c.was, got, c.want)
		}
		if p := Parse(got); p.Kind != c.kind || p.Model != c.model || p.File() != got {
			t.Errorf("%q is read as %+v", got, p)
		}
	}
}
