package cli

import (
	"bytes"
	"cmux/worktree/hint"
	"errors"
	"testing"
)

func TestReport(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("a\nb"), "cmux: a\ncmux: b\n"},
		{hint.New(errors.New("worktree api has uncommitted changes"), "cmux diff api"),
			"cmux: worktree api has uncommitted changes\ncmux: try: cmux diff api\n"},
		{Silent(errors.New("told already")), ""},
	} {
		var b bytes.Buffer
		Report(&b, c.err)
		if b.String() != c.want {
			t.Errorf("report(%v) = %q, want %q", c.err, b.String(), c.want)
		}
	}
}
