package dag

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// expandable matches a $ with what follows it.
var expandable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\$|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[{(]`)
})

// someHome matches the home folder of a named user, as a shell reads it.
var someHome = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^~[A-Za-z_][A-Za-z0-9_-]*(?:/|$)`)
})

// Expand expands a value of env: as a shell does. $NAME and ${NAME} are variables, $$ is a
// dollar, and ~ is HOME at the beginning or after a colon, if a slash follows. A $ before
// anything else stands for itself. lookup returns the value of a variable. The error names
// the unsupported form and says what to write.
func Expand(value string, lookup func(name string) string) (string, error) {
	var err error
	refuse := func(format string, args ...any) string {
		if err == nil {
			err = fmt.Errorf(format, args...)
		}
		return ""
	}
	if user := someHome().FindString(value); user != "" {
		refuse("cmux does not expand %s; write the path of the folder", strings.TrimSuffix(user, "/"))
	}
	parts := strings.Split(value, ":")
	for i, part := range parts {
		if part == "~" || strings.HasPrefix(part, "~/") {
			parts[i] = "${HOME}" + part[1:]
		}
	}
	out := expandable().ReplaceAllStringFunc(strings.Join(parts, ":"), func(m string) string {
		switch {
		case m == "$$":
			return "$"
		case m == "${":
			return refuse("${ is not followed by NAME}: cmux expands $NAME and ${NAME}; write $${ for the text ${")
		case m == "$(":
			return refuse("cmux runs no command in a value; write $$( for the text $(, or set the variable in the task")
		}
		return lookup(strings.Trim(m, "${}"))
	})
	return out, err
}

// Variables returns the names of the variables that Expand replaces in value.
func Variables(value string) (names []string) {
	_, _ = Expand(value, func(name string) string { // Parse has refused values with an error
		names = append(names, name)
		return ""
	})
	return names
}

// ExpandedEnv returns env with its values expanded; lookup returns the value of a variable.
// A value that Expand refuses stays as it is.
func (n *Node) ExpandedEnv(lookup func(name string) string) map[string]string {
	if n.Env == nil {
		return nil
	}
	out := make(map[string]string, len(n.Env))
	for name, value := range n.Env {
		if expanded, err := Expand(value, lookup); err == nil {
			value = expanded
		}
		out[name] = value
	}
	return out
}
