package rooms

import "strings"

// Find returns the rooms in whose line every word of text stands, without regard to case: in
// the name, the topic, the label, the policy, what was said last, or a member's name, kind or
// role. A text without words finds all.
func Find(all []View, text string) []View {
	words := strings.Fields(strings.ToLower(text))
	found := []View{}
	for i := range all {
		if line := all[i].line(); !lacks(line, words) {
			found = append(found, all[i])
		}
	}
	return found
}

// line is what a search for a room looks at.
func (v *View) line() string {
	r := &v.Room
	parts := []string{r.Name, r.Topic, r.Label, string(r.Policy), r.Last}
	for i := range v.Members {
		m := &v.Members[i]
		parts = append(parts, m.Name, m.Kind, m.Role)
	}
	return strings.ToLower(strings.Join(parts, "\n"))
}

func lacks(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return true
		}
	}
	return false
}
