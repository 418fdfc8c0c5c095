package dag

import (
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	lookup := func(name string) string {
		return map[string]string{"HOME": "/home/me", "USER": "me", "A_1": "x", "PATH": "/bin"}[name]
	}
	for _, c := range []struct{ value, want string }{
		{"", ""}, {"plain", "plain"}, {"$HOME/cache", "/home/me/cache"}, {"${USER}s", "mes"}, {"$USERs", ""},
		{"~", "/home/me"}, {"~/conf", "/home/me/conf"}, {"~/bin:$PATH", "/home/me/bin:/bin"}, {"$PATH:~/bin", "/bin:/home/me/bin"},
		{"a~/b", "a~/b"}, {"~1.2.3", "~1.2.3"}, {"x ~/y", "x ~/y"}, {"$A_1$A_1", "xx"}, {"$GONE.", "."},
		{"$$HOME", "$HOME"}, {"$$$HOME", "$/home/me"}, {"a$", "a$"}, {"^x$|$ $1 $?", "^x$|$ $1 $?"}, {"$${X:-y}", "${X:-y}"}, {"$$(id)", "$(id)"},
		{"~:~", "/home/me:/home/me"},
	} {
		if got, err := Expand(c.value, lookup); got != c.want || err != nil {
			t.Errorf("Expand(%q) = %q, %v; want %q", c.value, got, err, c.want)
		}
	}
	for value, says := range map[string]string{
		"${X:-y}": "write $${", "${}": "write $${", "a$(id)": "write $$(", "~bob/x": "~bob", "~bob": "write the path",
	} {
		if got, err := Expand(value, lookup); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Expand(%q) = %q, %v; want an error with %q", value, got, err, says)
		}
	}
}
