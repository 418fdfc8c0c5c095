package mailbox

import (
	"errors"
	"testing"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"supervisor":      {Name: "supervisor"},
		"user":            {Kind: User},
		"all":             {Kind: All},
		"perm-frontend":   {Name: "perm-frontend"},
		"cmux:supervisor": {Session: "cmux", Name: "supervisor"},
		"shop:w.1_x":      {Session: "shop", Name: "w.1_x"},
		"node:api":        {Kind: Node, Name: "api"},
		"node:user":       {Kind: Node, Name: "user"}, // a node of a run may have this name
		"sentry":          {Name: "sentry"},
	} {
		got, err := ParseAddress(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", "a b", ":a", "a:", "a:b:c", "-a", "a/b", "../x", "user:a", "all:a", "supervisor:a", "shop:user", "shop:all",
		"node", "node:", "node:-x", "x\n", "é", "User:x", "shop:node"} {
		if got, err := ParseAddress(text); !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestIn(t *testing.T) {
	for text, want := range map[string]string{"cmux:w": "w", "shop:w": "shop:w", "w": "w", "user": "user", "node:w": "node:w"} {
		a, err := ParseAddress(text)
		must(t, err)
		if got := a.In("cmux").String(); got != want {
			t.Errorf("%s in cmux: %s", text, got)
		}
	}
}

func TestReserved(t *testing.T) {
	for name, want := range map[string]bool{"monitor": true, "Supervisor": true, "sentry": true, "user": true, "all": true, "node": true, "perm-node": false, "": false} {
		if Reserved(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestCut(t *testing.T) {
	for subject, want := range map[string][2]string{
		"[TASK] fix it":        {"TASK", "fix it"},
		"[task-cancel]  t1":    {"TASK-CANCEL", "t1"},
		"[REVIEW-REQUEST]x":    {"REVIEW-REQUEST", "x"},
		"[WIP] x":              {"", "[WIP] x"},
		"[TASK fix":            {"", "[TASK fix"},
		"plain":                {"", "plain"},
		" [TASK] not in front": {"", " [TASK] not in front"},
	} {
		p, rest := Cut(subject)
		if string(p) != want[0] || rest != want[1] {
			t.Errorf("%q: %q, %q", subject, p, rest)
		}
	}
	for _, p := range prefixes {
		if got, rest := Cut(p.Subject("x")); got != p || rest != "x" {
			t.Errorf("%s: %s, %s", p, got, rest)
		}
	}
}
