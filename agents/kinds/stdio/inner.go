package stdio

import (
	"regexp"
	"strings"
	"sync"
)

// shells are those in which programs wrap commands: by name, or where systems
// keep them. Another of such a name may be an agent's own.
var shells = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(/bin/|/usr/bin/|/usr/local/bin/|/opt/homebrew/bin/)?(bash|zsh|sh)$`)
})

// Inner is the command in `/bin/bash -lc '…'`, as far as that is plain.
func Inner(command string) string {
	w, ok := words(command)
	if ok && len(w) == 3 && (w[1] == "-c" || w[1] == "-lc") && shells().MatchString(w[0]) {
		return w[2]
	}
	return command
}

// words are those of a shell command that is nothing but words: no list, pipe,
// redirection, expansion or comment.
func words(command string) (all []string, ok bool) {
	var word strings.Builder
	open := false // a word has begun
	end := func() {
		if open {
			all = append(all, word.String())
			word.Reset()
			open = false
		}
	}
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == ' ' || c == '\t':
			end()
			continue
		case c == '\'':
			n := strings.IndexByte(command[i+1:], '\'')
			if n < 0 {
				return nil, false
			}
			word.WriteString(command[i+1 : i+1+n])
			i += n + 1
		case c == '"':
			for i++; ; i++ {
				if i >= len(command) || command[i] == '$' || command[i] == '`' {
					return nil, false
				}
				if command[i] == '"' {
					break
				}
				if command[i] == '\\' && i+1 < len(command) && strings.IndexByte("\"\\$`", command[i+1]) >= 0 {
					i++
				}
				word.WriteByte(command[i])
			}
		case c == '\\' && i+1 < len(command) && command[i+1] != '\n':
			i++
			word.WriteByte(command[i])
		case strings.IndexByte("\\\r\n;&|<>()$`*?[]{}~#!=", c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
		}
		open = true
	}
	end()
	return all, true
}
