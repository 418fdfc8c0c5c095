package harmless

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, ä, 漢字, 👩\u200d💻\n\tindented\n":   "plain text, ä, 漢字, 👩\u200d💻\n\tindented\n",
		"a\x1b]52;c;c2VjcmV0\x07b":                    "ab",
		"a\x1b]52;c;c2VjcmV0\x1b\\b":                  "ab",
		"a\x1b]0;title\nb":                            "a\nb", // without its end
		"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\":   "alink",
		"a\u009d52;c;x\u009cb":                        "a", // of one character, and no end that all know
		"a\u009d52;c;x\u009cb\nc":                     "a\nc",
		"a\x1bP$qm\x1b\\b":                            "ab",
		"a\x1b_apc\x1b\\b\x1b^pm\x1b\\c\x1bXs\x1b\\d": "abcd",
		"a\x1b[2J\x1b[H\x1b[?25lb":                    "ab",
		"a\u009b2Jb":                                  "ab",
		"a\x1b[31mred\x1b[0mb":                        "aredb",
		"a\x1bcb\x1b(0c\x1b#8d":                       "abcd",
		"a\x1b\x1b[31mb":                              "ab",
		"a\x1b":                                       "a",
		"a\x1b[31":                                    "a",
		"a\x1b[31\nb":                                 "a\nb",
		"ok\rgone":                                    "ok gone",
		"ok\r\r\rgone":                                "ok gone",
		"one\r\ntwo\r\n":                              "one\r\ntwo\r\n",
		"ends\r":                                      "ends ",
		"a\b\b\b\x00\x07\x7fb":                        "ab",
		"a\vb\fc\u2028d\u0085e":                       "a b c d e",
		"pay \u202eevil\u202c":                        "pay <U+202E>evil<U+202C>",
		"a\u200bb\u00ad\ufeff\u2060":                  "a<U+200B>b<U+00AD><U+FEFF><U+2060>",
		"👩\u200d🚀 ❤\ufe0f":                            "👩\u200d🚀 ❤\ufe0f", // emoji are made so
		"\u2066x\u2069":                               "<U+2066>x<U+2069>",
		"tag\U000e0041":                               "tag<U+E0041>",
		"\x9b31mraw\x9d":                              "\ufffd31mraw\ufffd",
		"cut \xe6\xbc":                                "cut \ufffd",
		"\xe6\xbcx":                                   "\ufffdx",
	} {
		if got := Text(in); got != want && strings.ReplaceAll(got, "\ufffd\ufffd", "\ufffd") != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestColors(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m x":                    "\x1b[31mred\x1b[0m x",
		"\x1b[1;38;5;8mx\x1b[m":                   "\x1b[1;38;5;8mx\x1b[m",
		"\x1b[38;2;1;2;3mx\n":                     "\x1b[38;2;1;2;3mx\x1b[0m\n",
		"\x1b[31mopen\nnext":                      "\x1b[31mopen\x1b[0m\nnext",
		"\x1b[31mopen\r\nnext":                    "\x1b[31mopen\x1b[0m\r\nnext",
		"\x1b[31mopen":                            "\x1b[31mopen\x1b[0m",
		"\x1b[8mhidden":                           "hidden",
		"\x1b[08mhidden":                          "hidden",
		"\x1b[1;8mhidden":                         "hidden",
		"\x1b[38;5;1;8mhidden":                    "hidden",
		"\x1b[38;8mhidden":                        "hidden",
		"\x1b[38;5mx":                             "x",
		"\x1b[5mblinks":                           "blinks",
		"\x1b[>4;2mx\x1b[?1m\x1b[1 mx":            "xx",
		"\x1b[" + strings.Repeat("1;", 40) + "mx": "x",
		"\x1b]52;c;x\x07\x1b[2Jx":                 "x",
	} {
		if got := Styled(in, true); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	if got, want := Line("  one\n\ttwo\r\nthree\x1b[2K\rfour "), "one  two  three four"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJSONKeepsItsValue(t *testing.T) {
	in := map[string]string{"a\u009b\x7f": "x\u202ey\U000e0041z\u2028 漢\x1b]0;t\x07"}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	out := JSON(b)
	if got := Text(string(out)); got != string(out) {
		t.Errorf("%q is not harmless", out)
	}
	var back map[string]string
	if err := json.Unmarshal(out, &back); err != nil || back["a\u009b\x7f"] != in["a\u009b\x7f"] {
		t.Errorf("%s: %q, %v", out, back, err)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// FuzzWriter: for any input, in any pieces, the output has no terminal control, and text
// without control characters does not change.
func FuzzWriter(f *testing.F) {
	f.Add("a\x1b]52;c;x\x07\x1b[31mb\r\n\u202e\xff", 3, true)
	f.Add("\u009b8m\x1b[38;5;8m漢", 1, false)
	f.Fuzz(func(t *testing.T, s string, piece int, colors bool) {
		whole := Styled(s, colors)
		var b bytes.Buffer
		w := NewWriter(&b, colors)
		piece = max(piece%7, 1)
		for rest := s; rest != ""; {
			n := min(piece, len(rest))
			if k, err := w.Write([]byte(rest[:n])); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		w.Flush()
		if strings.ReplaceAll(b.String(), "\ufffd", "") != strings.ReplaceAll(whole, "\ufffd", "") {
			t.Fatalf("%q: in pieces %q, at once %q", s, b.String(), whole)
		}
		if !utf8.ValidString(whole) {
			t.Fatalf("%q is no UTF-8", whole)
		}
		for i, r := range whole {
			switch {
			case r == '\r' && strings.HasPrefix(whole[i:], "\r\n"):
			case r == 0x1b && colors:
				end := strings.IndexByte(whole[i:], 'm')
				if end < 0 || !strings.HasPrefix(whole[i:], "\x1b[") || !plain(whole[i+2:i+end]) {
					t.Fatalf("%q gives %q", s, whole)
				}
			case kind(r) != shown:
				t.Fatalf("%q gives %q, which holds %U", s, whole, r)
			}
		}
		if again := Styled(whole, colors); again != whole {
			t.Fatalf("%q gives %q, and that %q", s, whole, again)
		}
		if strings.IndexFunc(s, func(r rune) bool { return r == '\r' || r == utf8.RuneError || kind(r) != shown }) < 0 && whole != s {
			t.Fatalf("%q was changed to %q", s, whole)
		}
	})
}

// A text on the fast path is one that a Writer does not change.
func TestPlainIsLeftAlone(t *testing.T) {
	for c := range 256 {
		s := "a" + string([]byte{byte(c)}) + "b"
		var b strings.Builder
		w := NewWriter(&b, false)
		io.WriteString(w, s)
		w.Flush()
		if allShown(s) && b.String() != s {
			t.Errorf("%q is taken as it is, and becomes %q", s, b.String())
		}
		if c >= ' ' && c <= '~' && !allShown(s) {
			t.Errorf("%q is not taken as it is", s)
		}
	}
}
