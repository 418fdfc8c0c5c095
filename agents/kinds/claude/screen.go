package claude

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"cmux/agents/kinds/news"
)

// screen is what can be told from the text of the program's pane. It decides
// nothing: whether a key may be pressed there the conversation says.
type screen struct {
	Prompt bool   // the prompt is there and takes text
	Draft  string // what a person has typed into it and not sent
	Hooks  string // what the program says of hooks that it waits for
	Busy   bool   // above the prompt it says that something is under way
	Dialog string // the dialog that is open: permission, question, trust, key, bypass, login, auto or other; empty: none
	Words  string // what the dialog says, with its options
}

// shows is the screen as the conversation knows it. reachable says that keys
// reach the program, own what may stand in the prompt as a message of cmux's.
func (s screen) shows(reachable bool, own func(draft string) bool) news.Screen {
	switch {
	case !reachable:
		return news.CopyMode{}
	case s.Dialog != "":
		return news.Dialog{Name: s.Dialog, Says: firstRun[s.Dialog]}
	case !s.Prompt:
		return news.UnknownScreen{}
	case s.Draft == "":
		return news.EmptyPrompt{}
	case own(s.Draft):
		return news.OwnDraft{}
	}
	return news.Draft{}
}

// cell is one character of the screen.
type cell struct {
	r             rune
	dim, reversed bool
}

// readScreen reads the output of capture-pane -e with the row of the terminal's
// cursor. The program keeps the cursor, which it hides, where its next key goes:
// that alone tells the prompt from what looks like one in the agent's text above
// it or in a person's status line below it.
func readScreen(text string, row int) screen {
	lines := parseCells(text)
	if above, below, ok := box(lines, row); ok {
		over := lines[max(0, above-hooksAbove):above]
		return screen{Prompt: true, Draft: draft(lines[above+1 : below]), Hooks: hooks(over), Busy: underWay(over)}
	}
	if d := dialog(lines, row); d != "" {
		return screen{Dialog: d, Words: words(lines)}
	}
	return screen{}
}

// dialogLines is how many lines of a dialog are shown at most, the last ones.
const dialogLines = 40

// words is the text of the dialog at the bottom of the screen, without the mark of
// the chosen option and the indentation that all lines have.
func words(lines [][]cell) string {
	above := lastRule(lines)
	if above > 0 && !tells(lines[above+1:]) {
		above = lastRule(lines[:above]) // this rule stands inside the dialog
	}
	var all []string
	for _, line := range lines[above+1:] {
		if text := strings.Replace(plainLine(line), "❯", " ", 1); strings.Trim(text, " ╌─") != "" {
			all = append(all, text)
		}
	}
	all = all[max(0, len(all)-dialogLines):]
	indent := len(strings.Join(all, ""))
	for _, text := range all {
		indent = min(indent, len(text)-len(strings.TrimLeft(text, " ")))
	}
	for i := range all {
		all[i] = all[i][indent:]
	}
	return strings.Join(all, "\n")
}

// tells reports whether these lines are a whole dialog: they hold an option, numbered
// or chosen, or more text than the keys that it takes.
func tells(lines [][]cell) bool {
	n := 0
	for _, line := range lines {
		text := strings.TrimSpace(plainLine(line))
		if chosen := strings.TrimSpace(strings.TrimPrefix(text, "❯")); strings.HasPrefix(chosen, firstOption) || chosen != text && chosen != "" {
			return true
		}
		if text != "" {
			n++
		}
	}
	return n >= cutOff
}

// firstOption begins the first option of a dialog.
const firstOption = "1. "

// box finds the rules above and below the prompt in which the cursor stands.
// What is typed there is indented, so that it is no rule.
func box(lines [][]cell, row int) (above, below int, ok bool) {
	if row < 0 || row >= len(lines) || isRule(lines[row]) {
		return 0, 0, false
	}
	for above = row - 1; above >= 0 && !isRule(lines[above]); above-- {
	}
	for below = row + 1; below < len(lines) && !isRule(lines[below]); below++ {
	}
	if above < 0 || below == len(lines) {
		return 0, 0, false
	}
	for i := above + 1; i < below; i++ {
		line := plainLine(lines[i])
		first := i == above+1 && strings.HasPrefix(line, "❯") && !menu(line)
		scrolled := i > above+1 || strings.Contains(plainLine(lines[above]), "↑") // its first line is out of sight
		if !first && !(scrolled && (line == "" || strings.HasPrefix(line, "  "))) {
			return 0, 0, false
		}
	}
	return above, below, true
}

// hooksAbove is how far above the prompt the program tells what it is doing.
const hooksAbove = 4

var hooksRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\S .*\((running \w+ hooks… \d+/\d+)`) })

// hooks is what the program says of hooks that it waits for.
func hooks(lines [][]cell) string {
	for _, line := range lines {
		if m := hooksRE().FindStringSubmatch(plainLine(line)); m != nil {
			return m[1]
		}
	}
	return ""
}

// underWay reports whether a line says that the program is at something, as in
// "✻ Compacting conversation… (2s)".
func underWay(lines [][]cell) bool {
	for _, line := range lines {
		if text := []rune(plainLine(line)); len(text) > 2 && text[0] != ' ' && text[1] == ' ' && strings.ContainsRune(string(text), '…') {
			return true
		}
	}
	return false
}

// isRule reports whether a line is an edge of the prompt's frame, which may say
// how many lines are out of sight: "─── ↑ 16 more ────".
func isRule(line []cell) bool { return strings.HasPrefix(plainLine(line), "───") }

// menu reports whether a line is an entry of a menu ("❯ 1. Yes").
func menu(line string) bool {
	if !strings.HasPrefix(line, "❯") {
		return false
	}
	rest := strings.TrimSpace(strings.TrimPrefix(line, "❯"))
	number, _, ok := strings.Cut(rest, ". ")
	if !ok {
		return false
	}
	_, err := strconv.Atoi(number)
	return err == nil
}

// draft is what stands in the prompt, without the placeholder: that is dim but
// for its first character, on which the cursor stands.
func draft(lines [][]cell) string {
	var typed strings.Builder
	for i, line := range lines {
		if i == 0 {
			for len(line) > 0 && line[0].r != '❯' {
				line = line[1:]
			}
			line = line[min(len(line), 1):]
			for len(line) > 0 && (line[0].r == ' ' || line[0].r == '\u00a0') && !line[0].reversed {
				line = line[1:]
			}
			if len(line) > 1 && line[0].reversed && line[1].dim {
				line = line[1:]
			}
		}
		for _, c := range line {
			if !c.dim {
				typed.WriteRune(c.r)
			}
		}
		typed.WriteByte('\n')
	}
	text := strings.TrimSpace(strings.ReplaceAll(typed.String(), "\u00a0", " "))
	for _, p := range placeholders {
		if strings.HasPrefix(text, p) {
			return ""
		}
	}
	return text
}

// placeholders are told by their words where nothing is drawn dim: with NO_COLOR
// or CI in the environment.
var placeholders = []string{"Resend your message to try again", `Try "`}

// dialogs are told by words near the bottom of the screen, the first that fits.
var dialogs = []struct {
	name  string
	words []string // all of them
}{
	{"trust", []string{"trust", "folder"}},
	{"trust", []string{"Accessing workspace"}},
	{"bypass", []string{"Bypass Permissions mode", "accept"}},
	{"key", []string{"custom API key"}},
	{"login", []string{"Select login method"}},
	{"question", []string{"Enter to select", "Esc to cancel"}},
	{"permission", []string{"Do you want to", "Esc to cancel"}},
	{"other", []string{"Enter to confirm"}},
	{"other", []string{"Esc to cancel", "❯ 1."}},
}

// dialog names the dialog that is open, where the cursor is not in the prompt.
func dialog(lines [][]cell, row int) string {
	last := -1
	for i := range lines {
		if strings.TrimSpace(plainLine(lines[i])) != "" {
			last = i
		}
	}
	if last < 0 {
		return ""
	}
	rule := lastRule(lines[:last+1])
	if rule >= 0 && rule < last && strings.Contains(plainLine(lines[rule+1]), "Make auto mode your default") {
		return "auto" // this one says nothing of keys
	}
	if rule >= 0 && row >= last && last-rule >= cutOff {
		return "other" // the line that says which keys it takes did not fit
	}
	chosen := row >= 0 && row <= last && menu(strings.TrimSpace(plainLine(lines[row])))
	// The last line of a dialog says which keys it takes.
	var tail []string
	for i := max(0, last-2); i <= last; i++ {
		tail = append(tail, plainLine(lines[i]))
	}
	keys := strings.Join(tail, "\n")
	if !chosen && !strings.Contains(keys, "Esc to cancel") && !strings.Contains(keys, "Enter to ") {
		return ""
	}
	var all []string
	for i := max(0, last-30); i <= last; i++ {
		all = append(all, plainLine(lines[i]))
	}
	text := strings.Join(all, "\n")
next:
	for _, d := range dialogs {
		for _, w := range d.words {
			if !strings.Contains(text, w) {
				continue next
			}
		}
		return d.name
	}
	return "other"
}

// cutOff is how many lines below the last rule, down to the cursor in the last
// row, are more than what stands below the prompt: a dialog that the pane is too
// small for.
const cutOff = 6

// lastRule is the last line that is a rule, or -1.
func lastRule(lines [][]cell) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if isRule(lines[i]) {
			return i
		}
	}
	return -1
}

func plainLine(line []cell) string {
	var b strings.Builder
	for _, c := range line {
		if c.r == '\u00a0' {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(c.r)
	}
	return strings.TrimRight(b.String(), " ")
}

// parseCells splits text into lines of characters with what of their rendition
// matters. The rendition goes on from line to line.
func parseCells(text string) [][]cell {
	var (
		lines         [][]cell
		line          []cell
		dim, reversed bool
	)
	rs := []rune(text)
	for i := 0; i < len(rs); i++ {
		switch r := rs[i]; {
		case r == '\n':
			lines, line = append(lines, line), nil
		case r == '\x1b' && i+1 < len(rs) && rs[i+1] == '[':
			end := i + 2
			for end < len(rs) && (rs[end] < '@' || rs[end] > '~') {
				end++
			}
			if end < len(rs) && rs[end] == 'm' {
				dim, reversed = rendition(string(rs[i+2:end]), dim, reversed)
			}
			i = end
		case r < ' ':
		default:
			line = append(line, cell{r, dim, reversed})
		}
	}
	return append(lines, line)
}

// rendition applies the parameters of an SGR sequence.
func rendition(params string, dim, reversed bool) (bool, bool) {
	parts := strings.Split(params, ";")
	for i := 0; i < len(parts); i++ {
		switch parts[i] {
		case "", "0":
			dim, reversed = false, false
		case "2":
			dim = true
		case "22":
			dim = false
		case "7":
			reversed = true
		case "27":
			reversed = false
		case "38", "48", "58": // a color: 5;N or 2;R;G;B
			if i+1 < len(parts) && parts[i+1] == "5" {
				i += 2
			} else if i+1 < len(parts) && parts[i+1] == "2" {
				i += 4
			}
		}
	}
	return dim, reversed
}
