package git

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// What WithConfine is given is asked before every command of git's, whichever way it
// starts, and a command that it refuses does not start.
func TestWithConfine(t *testing.T) {
	refused := errors.New("refused")
	asked := 0
	ctx := WithConfine(t.Context(), func(*exec.Cmd) error { asked++; return refused })
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, c := range []Command{{}, {Stdout: out}, {Stdout: new(writer)}} {
		c.Dir, c.Args = t.TempDir(), []string{"version"}
		before := asked
		if _, err := c.Run(ctx); !errors.Is(err, refused) || asked != before+1 {
			t.Errorf("%v, asked %d times", err, asked-before)
		}
	}
	ctx = WithConfine(t.Context(), func(*exec.Cmd) error { return nil })
	if said, err := Run(ctx, t.TempDir(), "version"); err != nil || said == "" {
		t.Errorf("%q, %v", said, err)
	}
}

type writer struct{}

func (*writer) Write(b []byte) (int, error) { return len(b), nil }
