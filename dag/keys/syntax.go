package keys

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

var (
	syntaxError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`) })
	// The library counts lines from 0 in errors of its parser, and from 1 in errors of its
	// scanner.
	fromZero = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^did not find expected ('-' indicator|key|node content|',' or '[]}]'|<)|^found (duplicate %|incompatible YAML|undefined tag)`)
	})
	unknown = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^unknown anchor '(.*)' referenced$`) })
	escape  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(?:\\|[^\\])`) })
	// value matches the value after the keys and dashes of a line.
	value = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?: *- +)*(?: *([\w-]+):[ \t]+)?(.*?)(?:[ \t]+#.*)?[ \t\r]*$`)
	})
	blockText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[|>][-+0-9]*$`) })
)

// syntax records the library's error about a source that is not YAML at its real position,
// with a hint at the likely mistake.
func (r *Reader) syntax(src []byte, message string) {
	line, column, hint := 1, 1, ""
	if m := syntaxError().FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
		if m[1] != "" && fromZero().MatchString(message) {
			line++
		}
	}
	lines := strings.Split(string(src), "\n")
	text := lines[min(line, len(lines))-1]
	begins := strings.HasPrefix(message, "did not find expected")
	switch m := unknown().FindStringSubmatch(message); {
	case m != nil:
		hint = `an anchor stands before its aliases; a text that begins with "*" needs quotes`
		if before, _, ok := bytes.Cut(src, []byte("*"+m[1])); ok {
			line = 1 + bytes.Count(before, []byte("\n"))
			column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
		}
	case strings.HasPrefix(strings.TrimLeft(text, " "), "\t") && strings.Contains(message, "cannot start any token"):
		column, hint = 1+strings.IndexByte(text, '\t'), "indent with spaces, not tabs"
	case strings.Contains(message, "unknown escape character"):
		hint = `in double quotes write \\ for a backslash, or use single quotes`
		for _, at := range escape().FindAllStringIndex(text, -1) {
			if !strings.ContainsAny(text[at[0]+1:at[1]], "0abtnvfre \"/\\N_LPxuU\t") {
				column = 1 + utf8.RuneCountInString(text[:at[0]])
				break
			}
		}
	default:
		if l, c, h := unquoted(lines, line, begins, message); h != "" {
			line, column, hint = l, c, h
			break
		}
		switch {
		case begins:
			hint = "in what begins here; look at the indentation and brackets below"
		case strings.Contains(message, "not allowed in this context"):
			hint = "look at the indentation of this line, and of the one above"
		}
	}
	r.faultAt(line, column, hint, "not YAML: %s", message)
}

// unquoted looks for a value that was meant as text but has a meaning in YAML, in a line
// (from 1). With below it also looks at the lines after it, to which the library's message
// then belongs. An empty hint means none.
func unquoted(lines []string, line int, below bool, message string) (at, column int, hint string) {
	deeper := -1 // deeper lines are the text of a block; -1: none
	for i := line - 1; i < len(lines); i++ {
		text := lines[i]
		indent := len(text) - len(strings.TrimLeft(text, " "))
		if strings.TrimSpace(text) == "" || deeper >= 0 && indent > deeper {
			continue
		}
		deeper = -1
		m := value().FindStringSubmatchIndex(text)
		key, said := "", text[m[4]:m[5]]
		if m[2] >= 0 {
			key = text[m[2]:m[3]]
		}
		if blockText().MatchString(said) {
			deeper = indent
		} else if off, hint := meant(key, said, message); hint != "" && (key != "" || m[4] > indent) {
			return i + 1, 1 + utf8.RuneCountInString(text[:m[4]+off]), hint
		}
		if !below {
			break
		}
	}
	return 0, 0, ""
}

// meant returns a hint for a value that was meant as text, and the position at which YAML
// reads it as something else; an empty hint: the value is fine.
func meant(key, value, message string) (at int, hint string) {
	if value == "" {
		return 0, ""
	}
	first := value[:1]
	quote := fmt.Sprintf("a text that begins with %q needs quotes", first)
	rest := ""
	switch first {
	case "@", "`", "%", "|", ">":
		return 0, quote
	case "&", "*", "!":
		if len(value) == 1 || value[1] == ' ' {
			return 0, quote
		}
		return 0, ""
	case "[", "{":
		if end := closing(value); end > 0 && end < len(value) {
			return 0, quote
		}
		return 0, ""
	case `"`, "'":
		end := quoted(value)
		if end < 0 && strings.Contains(message, "unexpected end of stream") {
			return 0, "no quote closes the one that begins here"
		}
		if end >= 0 {
			rest = strings.TrimSpace(value[end:])
		}
		switch {
		case rest == "" || strings.HasPrefix(rest, ":"):
			return 0, ""
		case first == "'":
			return end - 1, "the text continues after this quote: write '' for a quote in it, or put all of it in double quotes"
		}
		return end - 1, `the text continues after this quote: write \" for a quote in it, or put all of it in single quotes`
	}
	if strings.HasPrefix(value, "- ") || strings.HasPrefix(value, "? ") {
		return 0, quote
	}
	colon := strings.Index(value, ": ")
	if colon < 0 && strings.HasSuffix(value, ":") && key != "" {
		colon = len(value) - 1
	}
	if colon < 0 || key == "" {
		return 0, ""
	}
	hint = `a text with ": " in it needs quotes`
	if key == "task" {
		hint += `; or write "task: |" and the text indented below it`
	}
	return colon, hint
}

// closing returns the position at which the brackets of a value close, or -1.
func closing(value string) int {
	depth := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'':
			end := quoted(value[i:])
			if end < 0 {
				return -1
			}
			i += end - 1
		}
	}
	return -1
}

// quoted returns the position at which the quote of a value ends, or -1.
func quoted(value string) int {
	for i := 1; i < len(value); i++ {
		switch {
		case value[0] == '"' && value[i] == '\\':
			i++
		case value[i] != value[0]:
		case value[0] == '\'' && i+1 < len(value) && value[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return -1
}
