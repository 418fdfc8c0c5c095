package run

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"cmux/dag"
)

// Bounds of what a node publishes: values are for prompts and environments, not
// for files.
const (
	maxOutputs     = 50 // of one node
	maxOutputKey   = 64
	maxOutputValue = 4 << 10
	// MaxOutputFile bounds the file in which a command leaves its outputs.
	MaxOutputFile = 1 << 20
)

var outputKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(dag.OutputPattern) })

// OutputValue is one output.
type OutputValue struct{ Key, Value string }

// CheckOutput says what is wrong with an output that a node publishes.
func CheckOutput(key, value string) error {
	switch {
	case !outputKey().MatchString(key) || len(key) > maxOutputKey:
		return fmt.Errorf("%.80q is no name of an output: letters, digits and _, not a digit first, at most %d", key, maxOutputKey)
	case len(value) > maxOutputValue:
		return fmt.Errorf("the output %s is %d bytes long, of %d at most: write it to a file in your worktree and publish its path", key, len(value), maxOutputValue)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return fmt.Errorf("the output %s is not text: publish UTF-8 without NUL bytes", key)
	}
	return nil
}

// ParseOutputs reads the file in which a command leaves its outputs: a line
// KEY=VALUE each, or KEY<<END, the lines of the value, and a line END. An empty
// line says nothing.
func ParseOutputs(b []byte) ([]OutputValue, error) {
	var all []OutputValue
	lines := strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	for n := 0; n < len(lines); n++ {
		line, first := lines[n], n+1
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if name, end, several := strings.Cut(line, "<<"); several && (!ok || len(name) < len(key)) {
			var text []string
			for n++; n < len(lines) && lines[n] != end; n++ {
				text = append(text, lines[n])
			}
			if end == "" || n == len(lines) {
				return nil, fmt.Errorf("line %d: no line %q ends the value of %.80q", first, end, name)
			}
			key, value, ok = name, strings.Join(text, "\n"), true
		}
		if !ok {
			return nil, fmt.Errorf("line %d is not KEY=VALUE: %.80q", first, line)
		}
		if err := CheckOutput(key, value); err != nil {
			return nil, fmt.Errorf("line %d: %w", first, err)
		}
		all = append(all, OutputValue{key, value})
	}
	return all, nil
}

// OutputLines is an output as ParseOutputs reads it.
func OutputLines(key, value string) []byte {
	if !strings.ContainsAny(value, "\r\n") {
		return []byte(key + "=" + value + "\n")
	}
	end := "END"
	for strings.Contains(value, end) {
		end += "_"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s<<%s\n%s\n%s\n", key, end, value, end)
	return b.Bytes()
}

// publishes reports whether an output counts: of one node the first maxOutputs
// names do, and of each name the newest value.
func (n *Node) publishes(key, value string) bool {
	if CheckOutput(key, value) != nil {
		return false
	}
	have := n.Fact.Outputs.Values()
	_, known := have[key]
	return known || len(have) < maxOutputs
}

var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(token|secret|passw|credential|api_?key|private_?key|access_?key)`)
})

// minSecret is how long a value is that is taken for a secret: shorter ones are
// in many texts by chance.
const minSecret = 8

// Masked is text in which the value of no variable stands whose name says that it
// is a secret: the variable's name does.
func Masked(env []string, text string) string {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if len(value) >= minSecret && secretName().MatchString(name) {
			text = strings.ReplaceAll(text, value, "$"+name)
		}
	}
	return text
}

// SecretIn is the name of a variable whose name says that it is a secret and
// whose value is in text; empty: there is none.
func SecretIn(env []string, text string) string {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if len(value) >= minSecret && strings.Contains(text, value) && secretName().MatchString(name) {
			return name
		}
	}
	return ""
}
