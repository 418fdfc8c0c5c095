package command

import (
	"slices"
	"testing"
)

func TestPlain(t *testing.T) {
	for script, want := range map[string][]string{
		"/bin/true":                {"/bin/true"},
		" ./build.sh  a -b --c,d ": {"./build.sh", "a", "-b", "--c,d"},
		"":                         nil,
		"true":                     nil, // the shell's own
		". ./x":                    nil,
		"/bin/true; /bin/true":     nil,
		"/bin/echo $HOME":          nil,
		"/bin/echo *":              nil,
		"/bin/echo 'a b'":          nil,
		"/bin/echo \"a\"":          nil,
		"/bin/echo ~":              nil,
		"/bin/true\n/bin/false":    nil,
		"/bin/true\t#x":            nil,
		"A=/bin/true":              nil,
		"/bin/true &":              nil,
		"/bin/true >x":             nil,
		"/bin/echo {a,b}":          nil,
		"/bin/echo é":              nil,
	} {
		if got := plain(script); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}
