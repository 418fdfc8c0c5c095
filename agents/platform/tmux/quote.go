package tmux

import (
	"errors"
	"strings"
	"unicode"
)

var errNUL = errors.New("a tmux argument cannot hold a NUL byte")

// quote quotes one argument in tmux's command language, on one line, so that tmux reads
// back exactly its bytes.
func quote(arg string) (string, error) {
	if strings.IndexByte(arg, 0) >= 0 {
		return "", errNUL
	}
	bare := arg != ""
	for i := 0; i < len(arg) && bare; i++ {
		c := arg[i]
		bare = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
	}
	if bare {
		return arg, nil
	}
	var b strings.Builder
	b.Grow(len(arg) + 8)
	b.WriteByte('"')
	for i := 0; i < len(arg); i++ {
		switch c := arg[i]; {
		// At the start of a string ~ means home, even in quotes. tmux's parser reads a byte
		// of 255 as the end.
		case c < ' ' || c == 0x7f || c == '~' || c == 0xff:
			b.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
		case c == '"' || c == '\\' || c == '$':
			b.Write([]byte{'\\', c})
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}

// commandText joins commands into one line of tmux's command language. tmux runs them in
// order up to the first error.
func commandText(commands ...[]string) (string, error) {
	var b strings.Builder
	for i, args := range commands {
		if i > 0 {
			b.WriteString(" ; ")
		}
		for j, arg := range args {
			q, err := quote(arg)
			if err != nil {
				return "", err
			}
			if j > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(q)
		}
	}
	return b.String(), nil
}

// processArgs returns args for the command line of a tmux process, where a ; at the end of
// an argument would end the command.
func processArgs(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if rest, ok := strings.CutSuffix(a, ";"); ok {
			a = rest + `\;`
		}
		out[i] = a
	}
	return out
}

// formatLiteral protects text in an argument that tmux expands as a format (-c, -n), where
// #(cmd) would even run a command. It keeps number signs before a [, which tmux does not
// expand.
func formatLiteral(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '#' {
			b.WriteByte(s[i])
			i++
			continue
		}
		n := i
		for n < len(s) && s[n] == '#' {
			n++
		}
		run := s[i:n]
		if n == len(s) || s[n] != '[' {
			run += run
		}
		b.WriteString(run)
		i = n
	}
	return b.String()
}

// labelText returns text that tmux draws unchanged: no styles (#[...]), no control
// characters, at most 200 characters.
func labelText(s string) string {
	const most = 200
	var b strings.Builder
	n := 0
	for _, r := range strings.ToValidUTF8(s, "?") {
		if n++; n > most {
			break
		}
		switch {
		case r == '#':
			b.WriteString("##")
		case !unicode.IsPrint(r): // control characters, and those that reorder text
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// program returns argv so that tmux executes it directly: tmux passes a single argument to
// a shell.
func program(argv []string) []string {
	if len(argv) == 1 {
		return []string{"/bin/sh", "-c", `exec "$0"`, argv[0]}
	}
	return argv
}
