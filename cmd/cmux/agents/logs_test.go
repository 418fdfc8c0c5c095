package agents

import (
	"io"
	"testing"

	"cmux/dag"
)

// Whoever schedules asks for a node's writer, and must not wait for a terminal
// that is held.
func TestPrefixedDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	p := newPrefixed(w, &dag.Graph{Nodes: []dag.Node{{Name: "a"}, {Name: "bcd"}}})
	held := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p.For("a"), "one\n")
		held <- err
	}()
	var first [1]byte
	if _, err := io.ReadFull(r, first[:]); err != nil { // it is under way, and not all is read
		t.Fatal(err)
	}
	out := p.For("bcd")
	rest := make([]byte, 10)
	n, err := io.ReadAtLeast(r, rest, 8)
	if got := string(first[:]) + string(rest[:n]); err != nil || got != "a   | one\n" {
		t.Errorf("%q, %v", got, err)
	}
	if err := <-held; err != nil {
		t.Error(err)
	}
	go io.WriteString(out, "two\n")
	if n, err := r.Read(rest); err != nil || string(rest[:n]) != "bcd | two\n" {
		t.Errorf("%q, %v", rest[:n], err)
	}
}
