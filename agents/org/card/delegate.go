package card

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cmux/agents/org/task"
	"cmux/agents/room/marks"
)

// Offer is what one member answers when it is asked who does what.
type Offer struct {
	By      string `json:"by"`
	Message int64  `json:"message,omitempty"` // in which it says so; 0: it gave no answer
	Why     string `json:"why,omitempty"`     // it gave no answer
	Roles
}

// Roles are names by role, each as often as the answer names another one.
type Roles struct {
	Coordinator []string `json:"coordinator"`
	Planner     []string `json:"planner"`
	Implementer []string `json:"implementer"`
	Reviewer    []string `json:"reviewer"`
}

func (r *Roles) of(role string) *[]string {
	switch strings.ToLower(role) {
	case "coordinator":
		return &r.Coordinator
	case "planner":
		return &r.Planner
	case "implementer":
		return &r.Implementer
	}
	return &r.Reviewer
}

// patterns find a role with a colon, a name behind an @, and a word at the beginning.
func patterns() (role, name, first *regexp.Regexp) {
	const word = `([A-Za-z0-9]+(?:[_-]+[A-Za-z0-9]+)*)`
	return regexp.MustCompile(`(?i)\b(coordinator|planner|implementer|reviewer)\b[*_\s]*:[*_]*`),
		regexp.MustCompile(`(?:^|[^A-Za-z0-9/@])@` + word), regexp.MustCompile(`^[*_\s]*` + word)
}

// Named reads who does what from an answer: Planner: @ann, Implementer: @bob, Reviewer: @cee.
// Without the @ a name counts if it is one of names. What is quoted or code does not count.
func Named(text string, names []string) Roles {
	var plain strings.Builder
	for _, p := range marks.Pieces(text, nil) {
		if p.Kind != marks.Code {
			plain.WriteString(p.Text)
		}
	}
	asRole, asName, first := patterns()
	r := Roles{Coordinator: []string{}, Planner: []string{}, Implementer: []string{}, Reviewer: []string{}}
	for line := range strings.Lines(plain.String()) {
		if strings.HasPrefix(strings.TrimSpace(line), ">") {
			continue
		}
		at := asRole.FindAllStringSubmatchIndex(line, -1)
		for i, m := range at {
			says := line[m[1]:]
			if i+1 < len(at) {
				says = line[m[1]:at[i+1][0]]
			}
			to := r.of(line[m[2]:m[3]])
			found := asName.FindAllStringSubmatch(says, -1)
			if w := first.FindStringSubmatch(says); len(found) == 0 && w != nil && known(w[1], names) != "" {
				found = [][]string{w}
			}
			for _, f := range found {
				name := f[1]
				if is := known(name, names); is != "" {
					name = is
				}
				if !slices.Contains(*to, name) {
					*to = append(*to, name)
				}
			}
		}
	}
	return r
}

// known is a name as the room writes it; empty: it has none like it.
func known(name string, names []string) string {
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) }); i >= 0 {
		return names[i]
	}
	return ""
}

// Delegated is the card with the roles that the offers together name. Unless a planner, an
// implementer and a reviewer are named, no role twice, and all are of names, nothing is taken,
// and why says what is missing.
func Delegated(c task.Card, offers []Offer, names []string) (with task.Card, why string) {
	var all Roles
	for _, o := range offers {
		for _, role := range []string{"coordinator", "planner", "implementer", "reviewer"} {
			to := all.of(role)
			for _, name := range *o.of(role) {
				if known(name, names) == "" {
					return c, fmt.Sprintf("%s names %s as %s, and nobody in the room is called so", o.By, name, role)
				}
				if !slices.Contains(*to, name) {
					*to = append(*to, name)
				}
			}
		}
	}
	for _, role := range []string{"planner", "implementer", "reviewer", "coordinator"} {
		switch named := *all.of(role); {
		case len(named) > 1:
			return c, fmt.Sprintf("more than one is named as %s: %s", role, strings.Join(named, ", "))
		case len(named) == 0 && role != "coordinator":
			return c, "nobody is named as " + role
		}
	}
	c.Planner, c.Implementer, c.Reviewer = all.Planner[0], all.Implementer[0], all.Reviewer[0]
	if len(all.Coordinator) > 0 {
		c.Coordinator = all.Coordinator[0]
	}
	c.Phase, c.Waits = "", ""
	return c, ""
}

// Delegate is the card when members are asked who does what.
func Delegate(c task.Card) task.Card {
	c.Phase, c.Waits = task.Delegating, ""
	c.Asked++
	return c
}

// PutBack is the card when it goes back to the backlog: who does what stays, and so does a plan.
func PutBack(c task.Card) task.Card {
	c.Phase, c.Waits, c.SentBack, c.Feedback, c.Remark = "", "", 0, 0, ""
	return c
}

// OfferKey names the question about a card that one member is asked, as others are.
func OfferKey(id string, c *task.Card, member string) string { return Key(id, c) + "-" + member }

// WhoDoes asks a member who does what. all says who there is.
func WhoDoes(t *task.Task, all []string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Card %s: %s", t.ID, t.Title)
	if body := strings.TrimSpace(Body(t.Body)); body != "" {
		line("\nWhat it asks for:\n\n%s", body)
	}
	line("\nWho should do this? There are: %s.", strings.Join(all, "; "))
	line("Say why in a few sentences, and end with one line in this form, with a name in place of each NAME:")
	line("Planner: @NAME, Implementer: @NAME, Reviewer: @NAME")
	line("You may name a Coordinator too. The others do not see your answer.")
	return b.String()
}
