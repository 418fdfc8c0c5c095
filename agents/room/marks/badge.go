package marks

import (
	"encoding/json"
	"strings"
)

// A Badge says in two words what a tool of a member did: it is made of the tool's call and
// never of text, so nobody can say one.
type Badge struct {
	Verb string `json:"verb"` // Read, Update, Write, Run, Search, Fetch, Plan, or the tool's own name
	What string `json:"what,omitempty"`
}

// The verbs of badges.
const (
	Reads    = "Read"
	Updates  = "Update"
	Writes   = "Write"
	Runs     = "Run"
	Searches = "Search"
	Fetches  = "Fetch"
	Plans    = "Plan"
)

// verb is that of a tool of the programs that cmux knows, by its name in lower
// case without - and _; empty for others.
func verb(tool string) string {
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(tool)) {
	case "read", "readfile", "readmanyfiles", "notebookread", "view", "viewimage", "list", "listdirectory", "ls":
		return Reads
	case "edit", "multiedit", "notebookedit", "replace", "strreplace", "strreplacefile", "applypatch", "patch", "delete", "move":
		return Updates
	case "write", "writefile", "create", "createfile":
		return Writes
	case "bash", "shell", "execcommand", "localshell", "runshellcommand", "execute", "terminal", "powershell":
		return Runs
	case "grep", "glob", "search", "searchfilecontent", "grepsearch", "codesearch", "toolsearch", "websearch", "googlewebsearch", "searchweb":
		return Searches
	case "webfetch", "fetch", "fetchurl":
		return Fetches
	case "todowrite", "todo", "setodolist", "settodolist", "updateplan", "plan", "exitplanmode", "think", "taskcreate", "taskupdate":
		return Plans
	}
	return ""
}

// mostWhat bounds what a badge says of a call, in bytes.
const mostWhat = 200

// Badged is the badge of a tool's call. The input is its JSON, as the program gave it.
func Badged(tool string, input json.RawMessage) Badge {
	b := Badge{Verb: verb(tool)}
	if b.Verb == "" {
		b.Verb = line(tool)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return b
	}
	for _, name := range []string{"command", "cmd", "file_path", "notebook_path", "absolute_path", "filePath", "pattern", "path", "url", "query", "description"} {
		var s string
		var words []string
		switch {
		case json.Unmarshal(fields[name], &s) == nil:
		case json.Unmarshal(fields[name], &words) == nil:
			s = strings.Join(words, " ")
		}
		if s = line(s); s != "" {
			b.What = s
			return b
		}
	}
	return b
}

// line is a text in one line, as far as a badge shows it.
func line(s string) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)), " ")
	if len(s) > mostWhat {
		s = strings.ToValidUTF8(s[:mostWhat], "") + "…"
	}
	return s
}

// Export writes the badge as it stands in an exported room.
func (b Badge) Export() string {
	text := strings.TrimSpace(b.Verb + " " + b.What)
	return "<tool>" + strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text) + "</tool>"
}
