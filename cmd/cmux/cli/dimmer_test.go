package cli

import (
	"bytes"
	"testing"
)

// Lines come in any pieces.
func TestDimmer(t *testing.T) {
	const in = "~ thought\n~\n ~ no\n~ \n\n~~ no\ntext ~ no\n~ last"
	const want = "\x1b[2m~ thought\x1b[0m\n~\n ~ no\n\x1b[2m~ \x1b[0m\n\n~~ no\ntext ~ no\n\x1b[2m~ last"
	for size := 1; size <= len(in); size++ {
		var b bytes.Buffer
		d := &dimmer{w: &b}
		for rest := []byte(in); len(rest) > 0; {
			n := min(size, len(rest))
			if k, err := d.Write(rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if b.String() != want {
			t.Fatalf("in pieces of %d: %q", size, b.String())
		}
	}
}
