package marks

import "strings"

// A zone is a part of a text in which no mark counts: [from, to).
type zone struct {
	from, to int
	code     bool // not <thinking>
}

func zoneAt(zones []zone, at int) (zone, bool) {
	for _, z := range zones {
		if z.from <= at && at < z.to {
			return z, true
		}
	}
	return zone{}, false
}

const (
	openThinking, closeThinking = "<thinking>", "</thinking>"
	openShare, closeShare       = "<share>", "</share>"
)

// inertIn finds the code and the thinking of a text, in their order.
func inertIn(text string) (all []zone) {
	begins := true // of a line, but for white space and tags
	for i := 0; i < len(text); {
		z := zone{from: i}
		switch {
		case begins && fence(text[i:]) != "":
			z.to, z.code = i+fenced(text[i:]), true
		case text[i] == '`':
			n := run(text[i:])
			if end := spanEnd(text[i+n:], n); end >= 0 {
				z.to, z.code = i+n+end, true
			} else {
				i, begins = i+n, false
				continue
			}
		case tagAt(text[i:], openThinking):
			z.to = len(text)
			if end := index(text[i:], closeThinking); end >= 0 {
				z.to = i + end + len(closeThinking)
			}
		case tagAt(text[i:], openShare):
			i += len(openShare)
			continue
		default:
			begins = text[i] == '\n' || begins && strings.IndexByte(" \t\r>", text[i]) >= 0
			i++
			continue
		}
		all = append(all, z)
		begins = z.to > 0 && text[z.to-1] == '\n'
		i = z.to
	}
	return all
}

// fence returns the fence of a block of code at the beginning of a line; empty: there is none.
func fence(line string) string {
	line, _, _ = strings.Cut(line, "\n")
	for _, mark := range []byte("`~") {
		n := len(line) - len(strings.TrimLeft(line, string(mark)))
		if n >= 3 && (mark == '~' || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

// fenced is how long a block of code is, with its fences; one that is not closed goes to the
// end.
func fenced(text string) int {
	mark := fence(text)
	for i := strings.IndexByte(text, '\n'); i >= 0; {
		line, _, more := strings.Cut(text[i+1:], "\n")
		end := i + 1 + len(line)
		if n := len(line) - len(closeShare); n >= 0 && tagAt(line[n:], closeShare) {
			line, end = line[:n], end-len(closeShare) // models end both on one line
		}
		if rest := strings.TrimLeft(strings.Trim(line, " \t\r>"), mark[:1]); rest == "" && strings.Contains(line, mark) {
			return end
		}
		if !more {
			break
		}
		i += 1 + strings.IndexByte(text[i+1:], '\n')
	}
	return len(text)
}

// run is how many backticks s begins with.
func run(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// spanEnd is where a span of code ends that n backticks began, in the same paragraph; -1: it
// does not.
func spanEnd(s string, n int) int {
	for i := 0; i < paragraphEnd(s); {
		if s[i] != '`' {
			i++
			continue
		}
		m := run(s[i:])
		if i += m; m == n {
			return i
		}
	}
	return -1
}

// tagAt reports whether s begins with a tag, whatever its case.
func tagAt(s, tag string) bool { return len(s) >= len(tag) && strings.EqualFold(s[:len(tag)], tag) }

// index is strings.Index without regard to case.
func index(s, tag string) int {
	for i := 0; i+len(tag) <= len(s); i++ {
		if s[i] == '<' && tagAt(s[i:], tag) {
			return i
		}
	}
	return -1
}

// shares parts a text in what stands within <Share>, and beside it. found: it has such a tag.
func shares(text string) (shared, aside string, found bool) {
	zones := inertIn(text)
	var in, out []string
	inside, from := false, 0
	cut := func(to int) {
		if part := strings.TrimSpace(text[from:to]); part != "" && inside {
			in = append(in, part)
		} else if part != "" {
			out = append(out, part)
		}
	}
	for i := 0; i < len(text); i++ {
		if z, is := zoneAt(zones, i); is {
			i = z.to - 1
			continue
		}
		for _, tag := range []string{openShare, closeShare} {
			if tagAt(text[i:], tag) {
				cut(i)
				inside, from, found = tag == openShare, i+len(tag), true
				i = from - 1
				break
			}
		}
	}
	cut(len(text))
	return strings.Join(in, "\n\n"), strings.Join(out, "\n\n"), found
}
