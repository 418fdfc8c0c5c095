package workspace

import (
	"context"
	"testing"
	"time"
)

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"src/a b.go": "src/a b.go", "é/日本": "é/日本", "new\nline": `"new\nline"`, "a, b": `"a, b"`, " x": `" x"`, "it's": `"it's"`, "\xff": `"\xff"`, "\x1b[2J": `"\x1b[2J"`,
	} {
		if got := name(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestNewestIgnoresGit(t *testing.T) {
	if !Newest(context.Background(), t.TempDir(), time.Now().Add(time.Hour)).IsZero() {
		t.Error("something is newer than an hour from now")
	}
}
