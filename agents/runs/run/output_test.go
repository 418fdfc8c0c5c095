package run

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseOutputs(t *testing.T) {
	for _, c := range []struct {
		text string
		want []OutputValue
		err  string
	}{
		{"", nil, ""},
		{"\n \na=1\n", []OutputValue{{"a", "1"}}, ""},
		{"a=b=c\na=\r\n", []OutputValue{{"a", "b=c"}, {"a", ""}}, ""},
		{"a=x<<y\n", []OutputValue{{"a", "x<<y"}}, ""},
		{"a<<END\none\n\nb=2\nEND\nb=3", []OutputValue{{"a", "one\n\nb=2"}, {"b", "3"}}, ""},
		{"a<<E=F\nx\nE=F\n", []OutputValue{{"a", "x"}}, ""},
		{"a<<END\nx\n", nil, `line 1: no line "END" ends the value of "a"`},
		{"a<<\nx\n", nil, `line 1: no line ""`},
		{"b=1\nnothing\n", nil, `line 2 is not KEY=VALUE: "nothing"`},
		{"a b=1\n", nil, `line 1: "a b" is no name of an output`},
		{"a=" + strings.Repeat("x", maxOutputValue+1), nil, "is 4097 bytes long"},
		{"a=\xff", nil, "is not text"},
		{"a=x\x00", nil, "is not text"},
	} {
		got, err := ParseOutputs([]byte(c.text))
		switch {
		case c.err == "" && (err != nil || !reflect.DeepEqual(got, c.want)):
			t.Errorf("%q: %q, %v; want %q", c.text, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || got != nil):
			t.Errorf("%q: %q, %v; want an error with %q", c.text, got, err, c.err)
		}
	}
}

// Whatever is published by a command is read back as it was, and what is read
// is within bounds.
func FuzzOutputs(f *testing.F) {
	f.Add("version", "1.2", []byte("a<<END\nb\nEND\n"))
	f.Add("_x", "two\nEND\nlines\n", []byte("a=b\r\n\nc=d"))
	f.Fuzz(func(t *testing.T, key, value string, file []byte) {
		all, err := ParseOutputs(file)
		if err != nil && all != nil {
			t.Fatalf("%q beside %v", all, err)
		}
		for _, o := range all {
			if err := CheckOutput(o.Key, o.Value); err != nil {
				t.Fatalf("read: %v", err)
			}
		}
		if CheckOutput(key, value) != nil || strings.Contains(value, "\r") {
			return
		}
		lines := append(OutputLines("first", "x"), OutputLines(key, value)...)
		if got, err := ParseOutputs(lines); err != nil || !reflect.DeepEqual(got, []OutputValue{{"first", "x"}, {key, value}}) {
			t.Fatalf("%q is read as %q, %v", lines, got, err)
		}
	})
}

func TestSecretIn(t *testing.T) {
	env := []string{"NPM_TOKEN=abcdefghij", "PATH=/usr/local/bin", "API_KEY=short", "EMPTY_SECRET="}
	for text, want := range map[string]string{
		"url?token=abcdefghij": "NPM_TOKEN", "abcdefghi": "", "/usr/local/bin": "", "short": "", "": "",
	} {
		if got := SecretIn(env, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
