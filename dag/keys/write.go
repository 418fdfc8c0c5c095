package keys

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// DurationText returns the duration without the zeros at the end of its format.
func DurationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Block returns s as the value of a key: text of several lines as a block with that indent
// if YAML can hold it so, else as Scalar. Only a line feed ends a line of s.
func Block(s, indent string) string {
	body := strings.TrimSuffix(s, "\n")
	plain := strings.Contains(body, "\n") && !strings.HasPrefix(s, " ") && !strings.HasPrefix(s, "\t") && !strings.HasPrefix(s, "\n") && !strings.HasSuffix(body, "\n") &&
		!strings.ContainsFunc(body, func(r rune) bool { return !inBlock(r) }) && utf8.ValidString(body)
	if !plain {
		return Scalar(s)
	}
	head := "|"
	if body == s {
		head = "|-"
	}
	for line := range strings.SplitSeq(body, "\n") {
		head += "\n"
		if line != "" {
			head += indent + line
		}
	}
	return head
}

// Scalar returns s as one YAML value on one line. It is valid inside brackets too.
func Scalar(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_./-+", r)
	}) && s[0] != '-' && s[0] != '+'
	if n := (&yaml.Node{Kind: yaml.ScalarNode, Value: s}); plain && n.ShortTag() == "!!str" {
		return s
	}
	// Quote's format is a subset of YAML's double-quoted style, except for invalid UTF-8,
	// which YAML would read as other characters.
	return strconv.Quote(strings.ToValidUTF8(s, "\ufffd"))
}

func writeList(list []string, indent string) string {
	quoted := make([]string, len(list))
	length := 0
	for i, s := range list {
		quoted[i] = Scalar(s)
		length += len(quoted[i]) + 2
	}
	if length > 90 {
		return "\n" + indent + "- " + strings.Join(quoted, "\n"+indent+"- ")
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// inBlock reports whether a YAML block may hold r unescaped. It may hold no-break spaces
// and joiners, which people write; other invisible characters are escaped.
func inBlock(r rune) bool {
	return r == '\n' || r == '\t' || r == '\u00a0' || r == '\u200d' || unicode.IsPrint(r)
}

// WriteMap returns the map as one value, in the order of its keys.
func WriteMap[V any](m map[string]V, _ string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		v := fmt.Sprint(m[k])
		if s, ok := any(m[k]).(string); ok {
			v = Scalar(s)
		}
		parts = append(parts, Scalar(k)+": "+v)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
