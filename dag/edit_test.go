package dag

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAddNode(t *testing.T) {
	s := Sketch{Name: "new", Task: "one\ntwo\n", DependsOn: []string{"a"}, Verify: []string{"go test ./..."}}
	const item = "- name: new\n  task: |\n    one\n    two\n  depends_on:\n    - a\n  verify:\n    - go test ./...\n"
	in := func(indent string) string {
		return indent + strings.ReplaceAll(strings.TrimSuffix(item, "\n"), "\n", "\n"+indent) + "\n"
	}
	for name, c := range map[string]struct{ src, want string }{
		"empty":             {"", "agents:\n" + in("  ")},
		"no agents":         {"session: x # mine\n", "session: x # mine\nagents:\n" + in("  ")},
		"at the end":        {"session: x\nagents:\n  - {name: a, task: x} # first\n", "session: x\nagents:\n  - {name: a, task: x} # first\n" + in("  ")},
		"no newline":        {"agents:\n- name: a\n  task: x", "agents:\n- name: a\n  task: x\n" + in("")},
		"a block of text":   {"agents:\n  - name: a\n    task: |\n      one\n\n      # no comment\n\n# about it\nsession: x\n", "agents:\n  - name: a\n    task: |\n      one\n\n      # no comment\n" + in("  ") + "\n# about it\nsession: x\n"},
		"indented comment":  {"agents:\n  - name: a # one\n    task: x\n    # its end\nsession: x\n", "agents:\n  - name: a # one\n    task: x\n    # its end\n" + in("  ") + "session: x\n"},
		"lines of Windows":  {"agents:\r\n  - {name: a, task: x}\r\nsession: x\r\n", "agents:\r\n  - {name: a, task: x}\r\n" + strings.ReplaceAll(in("  "), "\n", "\r\n") + "session: x\r\n"},
		"a dash in a value": {"agents:\n    - name: a-b\n      task: x - y\n", "agents:\n    - name: a-b\n      task: x - y\n" + in("    ")},
	} {
		got, err := AddNode([]byte(c.src), s)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.want)
		}
	}
	for _, src := range []string{"agents: [a]\n", "agents: {}\n", "{agents: []}\n", "- a\n", "agents: [\n", "agents:\n  - {name: a, task: x}\n...\n"} {
		if got, err := AddNode([]byte(src), s); err == nil {
			t.Errorf("%q becomes\n%s", src, got)
		}
	}
}

// A node can be added to every configuration that cmux writes, and the others do not
// change.
func TestAddNodeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z#:\- "'|>]{1,12}(\n[a-z#: ]{0,8}){0,3}`)
		src := []byte("session: x\nagents:\n  - {name: first, task: x}\n")
		for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			s := Sketch{Name: "n" + string(rune('a'+i)), Task: text.Draw(t, "task"), DependsOn: rapid.SliceOfN(rapid.Just("first"), 0, 1).Draw(t, "deps"), Verify: rapid.SliceOfN(text, 0, 2).Draw(t, "verify")}
			out, err := AddNode(src, s)
			if err != nil {
				t.Fatalf("%v\n%s", err, src)
			}
			if !strings.HasPrefix(string(out), strings.TrimRight(string(src), "\n")) {
				t.Fatalf("%s\nbecomes\n%s", src, out)
			}
			src = out
		}
	})
}
