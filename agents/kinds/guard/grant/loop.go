package grant

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// loopHead begins a loop over plain words. No name of its variable is one that a
// shell itself looks at, as zsh does at path and status. No word is an option or a
// pattern.
var loopHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^for ([a-z]|agent|id|item|msg|name|node|task|who|worker) in ([A-Za-z0-9./][A-Za-z0-9_./-]*(?: +[A-Za-z0-9./][A-Za-z0-9_./-]*)*) *[;\n][ \n]*do[ \n]+`)
})

// loopEnd ends it. Within quotes it is no end: what stands before it is then a text
// whose quote does not end either.
var loopEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` *[;\n][ \n]*done(?:[ \n|;&]|$)`) })

// loop reads a loop over words, as the commands that it runs for each of them. In
// its body the variable stands where every shell replaces it by the word only. The
// end of a here-document is no such place: a loop with one is not read. A text that
// is not read stays as it is.
func (l *lexer) loop(after string) (commands []command, ok bool) {
	head := loopHead().FindStringSubmatch(l.rest)
	if head == nil {
		return nil, false
	}
	rest := l.rest[len(head[0]):]
	end := loopEnd().FindStringIndex(rest)
	words := strings.Fields(head[2])
	if end == nil || len(words) > MaxItems || slices.Contains(words, "do") || slices.Contains(words, "done") {
		return nil, false
	}
	body := rest[:end[0]]
	for _, word := range words {
		text, ok := replaced(body, head[1], word)
		if !ok {
			return nil, false
		}
		once, ok := lexAll(text)
		if !ok {
			return nil, false
		}
		once[0].after = after
		for i := range once {
			if once[i].looped || once[i].here {
				return nil, false
			}
			once[i].looped = true
		}
		commands, after = append(commands, once...), ";"
	}
	_, rest, _ = strings.Cut(rest[end[0]:], "done")
	rest = strings.TrimLeft(rest, " ")
	if m := redirections().FindStringSubmatchIndex(rest); m != nil {
		rest = rest[m[7]:]
	}
	if rest != "" && !operators().MatchString(rest) {
		return nil, false
	}
	l.rest = rest
	return commands, true
}

// replaced is the body of a loop with a word for its variable, bare or in double
// quotes. Nothing follows a variable that a shell could take for a part of its name
// or for a change of its value.
func replaced(body, name, word string) (text string, ok bool) {
	if strings.ContainsAny(body, `'\`) {
		return "", false
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(body, "$")
		b.WriteString(before)
		if !found {
			return b.String(), true
		}
		after, is := strings.CutPrefix(rest, "{"+name+"}")
		if !is {
			after, is = strings.CutPrefix(rest, name)
		}
		if !is || after != "" && !strings.ContainsRune(" \n;|&\"/", rune(after[0])) {
			return "", false
		}
		b.WriteString(word)
		body = after
	}
}

// MaxItems bounds the items of a loop of which each is judged by itself.
const MaxItems = 32
