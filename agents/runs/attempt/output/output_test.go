package output

import (
	"strings"
	"testing"
	"unicode/utf8"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestReadable(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext é 日本\n":                     "plain\n\ttext é 日本\n",
		"\x1b[1;31mFAIL\x1b[0m x\r\n":              "FAIL x\n",
		"\x1b]0;title\x07a\x1b]8;;u\x1b\\b\x1b(Bc": "abc",
		" 1%\r 50%\r100%\ndone":                    "100%\ndone",
		"paste ends\x1b[201~; rm -rf x\x07\x00":    "paste ends; rm -rf x",
		"cut\x1b[3":                                "cut3",
		"\xff\x9b31m":                              "\uFFFD31m",
	} {
		if got := Readable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzReadable(f *testing.F) {
	f.Add("a\x1b[31mb\r\nc\x1b]0;x\x07")
	f.Fuzz(func(t *testing.T, s string) {
		got := Readable(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 }) {
			t.Errorf("%q became %q", s, got)
		}
		if Readable(got) != got {
			t.Errorf("%q changes again", got)
		}
	})
}

func TestTail(t *testing.T) {
	k := &Tail{Limit: 10}
	for range 100 {
		k.Write([]byte("é12"))
	}
	if s := k.String(); s != "…é12é12" && len(s) > len("…")+10 {
		t.Errorf("%q", s)
	}
	if s := (&Tail{Limit: 10, buf: []byte("short")}).String(); s != "short" {
		t.Errorf("%q", s)
	}
}
