package stage

import "strings"

// Name is the name, argv[0], under which a binary is the stage.
const Name = "cmux-fence"

// A Plan is what the stage does. The paths are absolute, clean and without links.
type Plan struct {
	Hide  []string // are found empty; those that do not exist are passed over
	Show  []string // stay as they are, though they lie in a place of Hide
	Own   []string // files that are found as copies which belong to the program's user
	Plain []string // folders below which no link is followed

	// Copies are files that are found as copies which the program may write. They are gone with
	// the last of its processes.
	Copies []string

	// Terminals makes /dev/pts one of the program's own, where it may write: other terminals of
	// its user are not there. Its own is /dev/console.
	Terminals bool

	Ruleset string   // the file descriptor of a Landlock ruleset; empty: none
	Powers  bool     // the process keeps its capabilities except those that undo the rest
	Env     []string // further variables of the program: those that change the stage itself
}

// Words returns the command line of the stage for a program; a program without a path is
// none, and the stage ends when it is ready.
func (p *Plan) Words(path string, argv []string) []string {
	words := []string{Name}
	add := func(kind string, values ...string) {
		for _, v := range values {
			words = append(words, kind+v)
		}
	}
	add("h", p.Hide...)
	add("s", p.Show...)
	add("o", p.Own...)
	add("l", p.Plain...)
	add("c", p.Copies...)
	add("e", p.Env...)
	if p.Ruleset != "" {
		add("r", p.Ruleset)
	}
	if p.Powers {
		words = append(words, "p")
	}
	if p.Terminals {
		words = append(words, "t")
	}
	return append(append(words, "-", path), argv...)
}

// parse reads what Words wrote.
func parse(words []string) (p Plan, path string, argv []string, ok bool) {
	for i, w := range words {
		if w == "-" {
			if len(words) < i+2 {
				break
			}
			return p, words[i+1], words[i+2:], true
		}
		if w == "" {
			break
		}
		value := w[1:]
		switch w[0] {
		case 'h':
			p.Hide = append(p.Hide, value)
		case 's':
			p.Show = append(p.Show, value)
		case 'o':
			p.Own = append(p.Own, value)
		case 'l':
			p.Plain = append(p.Plain, value)
		case 'c':
			p.Copies = append(p.Copies, value)
		case 'e':
			p.Env = append(p.Env, value)
		case 'r':
			p.Ruleset = value
		case 'p':
			p.Powers = true
		case 't':
			p.Terminals = true
		default:
			return p, "", nil, false
		}
	}
	return p, "", nil, false
}

// within reports whether a clean path lies in place, or is it.
func within(path, place string) bool {
	return path == place || strings.HasPrefix(path, place+"/")
}
