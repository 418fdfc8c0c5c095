package say

import (
	"testing"
	"time"
)

func TestShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1k", 1049: "1k", 1050: "1.1k", 12_345: "12.3k", 999_949: "999.9k", 999_950: "1M",
		2_000_000: "2M", 12_345_678: "12.3M", 999_999_999: "1G", 1_234_567_890: "1.2G", 12_345_678_901_234: "12345.7G"} {
		if got := Short(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(1, "branch"), "1 branch"}, {Count(2, "branch"), "2 branches"}, {Count(0, "node"), "0 nodes"},
		{List([]string{"a", "b"}, 2), "a, b"}, {List([]string{"a", "b", "c", "d"}, 2), "a, b and 2 more"}, {List(nil, 2), ""},
		{Word("feature/a-1"), "feature/a-1"}, {Word(""), "''"}, {Word("it's"), `'it'\''s'`}, {Word("a b"), "'a b'"}, {Word("$HOME"), "'$HOME'"},
		{Line(" a\n\x1b[31mb\x1b[0m\u202e "), "a b<U+202E>"},
		{Lines("\n  1. a\x1b[31m\n    b  \n"), "  1. a\n    b"},
		{Span(-time.Second), "0s"}, {Span(59 * time.Second), "59s"}, {Span(64 * time.Second), "1m04s"}, {Span(62 * time.Minute), "1h02m"}, {Span(51 * time.Hour), "2d03h"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
