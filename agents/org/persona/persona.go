// Package persona reads and writes role files that say of which kind and model the agent is
// that takes the role: a persona. The file begins with a head between two lines ---, in which
// kind: and model: stand; below it is the role's text. A role file without a head is a persona
// of any kind. Nothing here touches a file.
package persona

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// Persona is what a role file says.
type Persona struct {
	Kind  string // of its agent; empty: any
	Model string // of its agent; empty: the kind's own choice
	Text  string // the role

	other []string // lines of the head about something else, which stay
}

const bar = "---"

// Parse reads a role file. A head that is no YAML mapping is text of the role.
func Parse(file string) Persona {
	head, text, ok := cut(file)
	if !ok {
		return Persona{Text: file}
	}
	var said struct{ Kind, Model string }
	if err := yaml.Unmarshal([]byte(head), &said); err != nil {
		return Persona{Text: file}
	}
	p := Persona{Kind: strings.TrimSpace(said.Kind), Model: strings.TrimSpace(said.Model), Text: text}
	for line := range strings.Lines(head) {
		if line = strings.TrimRight(line, "\r\n"); !isKey(line) {
			p.other = append(p.other, line)
		}
	}
	return p
}

// cut parts a file into its head and what is below; false: it has no head.
func cut(file string) (head, text string, ok bool) {
	first, rest, _ := strings.Cut(file, "\n")
	if strings.TrimRight(first, " \t\r") != bar {
		return "", "", false
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\r\n") == bar {
			return rest[:at], rest[at+len(line):], true
		}
		at += len(line)
	}
	return "", "", false
}

func isKey(line string) bool {
	return strings.HasPrefix(line, "kind:") || strings.HasPrefix(line, "model:")
}

// File is the role file of a persona.
func (p Persona) File() string {
	var head []string
	for _, f := range []struct{ key, value string }{{"kind", p.Kind}, {"model", p.Model}} {
		if f.value != "" {
			b, err := yaml.Marshal(map[string]string{f.key: f.value})
			if err != nil {
				panic(err) // a map of texts
			}
			head = append(head, strings.TrimRight(string(b), "\n"))
		}
	}
	head = append(head, p.other...)
	text := p.Text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if _, _, headed := cut(text); len(head) == 0 && !headed {
		return text
	}
	return bar + "\n" + strings.Join(append(head, bar), "\n") + "\n" + text
}

// With is the persona with another kind, model and text; what else its head says stays.
func (p Persona) With(kind, model, text string) Persona {
	p.Kind, p.Model, p.Text = kind, model, text
	return p
}
