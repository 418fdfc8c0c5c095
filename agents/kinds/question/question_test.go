package question

import "testing"

func TestString(t *testing.T) {
	for _, c := range []struct {
		q    Question
		want string
	}{
		{Question{}, ""},
		{New("which?"), "which?"},
		{InPane("trust it?"), "trust it?"},
		{New("which?", "red: like fire", "blue"), "which?\n  1. red: like fire\n  2. blue"},
		{Question{Parts: []Part{{"which?", []string{"red"}}, {"how many?", nil}}}, "(1 of 2) which?\n  1. red\n(2 of 2) how many?"},
	} {
		if got := c.q.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
}
