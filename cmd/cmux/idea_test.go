package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each command of the page From an idea to merged code with a room is one that its script
// gives, in this order.
func TestIdeaPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "idea-to-merge.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "script", "idea-claude.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	rest, n := string(script), 0
	for _, m := range regexp.MustCompile(`(?m)^cmux (\w+ \w+)`).FindAllStringSubmatch(string(page), -1) {
		n++
		_, after, ok := strings.Cut(rest, "cmux "+m[1])
		if !ok {
			t.Errorf("the script does not give cmux %s, or earlier than the page", m[1])
			continue
		}
		rest = after
	}
	if n < 8 {
		t.Errorf("%d commands on the page", n)
	}
}
