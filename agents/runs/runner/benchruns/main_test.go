package main

import (
	"os"
	"testing"
)

// TestPageIsKept: measuring one section leaves the rest of the page as it was.
func TestPageIsKept(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	p := page{titles: titles((&bench{}).sections()), parts: map[string]string{}}
	p.read(string(text))
	if got := p.String(); got != string(text) {
		t.Errorf("the page became\n%s", got)
	}
	if _, ok := p.parts[notes]; !ok || p.parts[""] == "" {
		t.Errorf("the page has no head or no notes: %q", p.parts)
	}
}
