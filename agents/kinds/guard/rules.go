package guard

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/rights"
	"cmux/dag"
)

// write judges a file or folder that a command is about to write. whole says
// that everything below it goes too.
func (s *shell) write(doing string, w word, whole bool) {
	text := w.text
	if !w.whole {
		// What is known ends in the middle of a name.
		cut := strings.LastIndex(text, "/")
		if cut < 0 {
			return
		}
		text, whole = text[:cut+1], false
	}
	if text == "" || strings.ContainsRune(text, 0) {
		return
	}
	abs := text
	if !filepath.IsAbs(abs) {
		if s.dir == "" {
			// Nothing but cmux has a .cmux, wherever the shell may be.
			if rel := filepath.ToSlash(filepath.Clean(text)); places.StateOf(rel) == ".cmux" {
				s.refuse(places.InState(doing+" "+w.text, ".cmux"))
			} else if s.OrdersAt(rel, doing != making) {
				s.refuse(places.GivesOrders(doing + " " + w.text))
			}
			return
		}
		abs = s.dir + string(filepath.Separator) + text
	}
	// A link itself may be meant, or what it leads to.
	for _, path := range []string{abs, filepath.Clean(abs)} {
		if r, err := s.Resolved(path); err == nil {
			s.writeAt(doing, w.text, r, whole)
		}
	}
	if parent, err := s.Resolved(filepath.Dir(filepath.Clean(abs))); err == nil {
		s.writeAt(doing, w.text, filepath.Join(parent, filepath.Base(abs)), whole)
	}
}

func (s *shell) writeAt(doing, name, path string, whole bool) {
	at := s.SpotOf(path)
	what := doing + " " + name
	for _, p := range s.PrivateDirs {
		if places.Reaches(path, p) || whole && places.Holds(path, p) {
			s.refuse(places.KeepsKey(what))
		}
	}
	if reason, settled := s.LeadsAt(what, at, whole); settled {
		s.refuse(reason)
		return
	}
	if reason := s.Forbids(what, at, whole); reason != "" {
		s.refuse(reason)
	}
	if doing == "writing" || doing == "changing" {
		if reason := s.LinkedElsewhere(what, at); reason != "" {
			s.refuse(reason)
		}
	}
	switch {
	case at.State != "":
		s.refuse(places.InState(what, at.State))
	case s.OrdersAt(path, doing != making):
		s.refuse(places.GivesOrders(what))
	case whole && path == s.TreeDir && at.Whose == places.Own:
		s.refuse(what + " is refused: it is your whole worktree, with what git and cmux keep in it. Name the files in it that you mean.")
	case whole && s.Above(path):
		s.refuse(fmt.Sprintf("%s is refused: the project or its worktrees lie in it. Name the files in %s that you mean.", what, s.Home))
	case at.Whose == places.Peers:
		s.refuse(fmt.Sprintf("%s is refused: it is another agent's worktree. Work in %s only.", what, s.Home))
	case at.Whose == places.Persons:
		s.refuse(fmt.Sprintf("%s is refused: it is the project's own checkout. Work in %s only.", what, s.Home))
	case at.Whose == places.Own && s.ReadsOnly():
		s.refuse(what + s.ChangesNothing())
	}
}

// making is what mkdir does, which overwrites nothing.
const making = "making"

// ownDir reports whether the commands stand in a folder of the project, and
// whose; what cannot be told is nobody's.
func (s *shell) ownDir() places.Whose {
	if s.dir == "" {
		return places.Nobodys
	}
	r, err := s.Resolved(s.dir)
	if err != nil {
		return places.Nobodys
	}
	return s.SpotOf(r).Whose
}

// program judges a command that is no shell, no wrapper and not git.
func (s *shell) program(name string, args []word) {
	s.byway(name, args)
	switch name {
	case "rm", "unlink", "rmdir", "shred":
		s.writeAll("removing", plain(args, ""), has(args, "rR", "recursive"))
	case "mv":
		s.writeAll("moving", plain(args, "tS", "target-directory", "suffix"), true)
		s.into(args)
	case "cp", "ln", "install", "rsync":
		s.copies(name, args)
	case "mkdir":
		s.writeAll(making, plain(args, "m", "mode"), false)
	case "tee", "touch", "mkfifo":
		s.writeAll("writing", plain(args, "mdrt", "mode", "date", "reference"), false)
	case "truncate":
		s.writeAll("writing", plain(args, "sr", "size", "reference"), false)
	case "chmod", "chown", "chgrp":
		s.writeAll("changing", modeless(name, args), has(args, "R", "recursive"))
	case "dd":
		for _, a := range args {
			if to, ok := strings.CutPrefix(a.text, "of="); ok {
				s.write("writing", word{to, a.whole}, false)
			}
		}
	case "sed", "gsed", "perl", "ruby":
		s.inPlace(name, args)
	case "tmux":
		s.tmux(args)
	case "cmux":
		s.cmux(args)
	case "claude", "codex", "gemini", "qwen":
		s.agentsOwn(name, args)
	case "pre-commit", "lefthook", "husky":
		words := append(plain(args, ""), literal(""))
		if contains(installers[name], words[0].text) && s.ownDir() != places.Nobodys && !has(args, "h", "help", "version") {
			s.refuse(strings.TrimSpace(name+" "+words[0].text) + " is refused: all worktrees of the repository share its hooks. Run what you need of them by itself.")
		}
	case "pkill", "killall":
		for _, a := range plain(args, "") {
			for _, n := range []string{"tmux", "cmux", "claude", "codex", "kimi"} {
				if strings.Contains(a.text, n) {
					s.refuse(fmt.Sprintf("%s %s is refused: it would end other agents. End what you started by its process id: kill PID", name, a.text))
				}
			}
		}
	case "kill":
		if len(args) > 1 && args[len(args)-1].is("-1") {
			s.refuse("kill of every process is refused: it would end other agents. End what you started by its process id: kill PID")
		}
	default:
		if s.ReadsOnly() {
			s.reviewed(name, args)
		}
	}
}

func (s *shell) writeAll(doing string, files []word, whole bool) {
	for _, f := range files {
		s.write(doing, f, whole)
	}
}

// inPlace judges an editor that changes files by a script.
func (s *shell) inPlace(name string, args []word) {
	scripted, inPlace := false, false
	var files []word
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a.text, "--in-place"):
			inPlace = true
		case strings.HasPrefix(a.text, "--expression"), strings.HasPrefix(a.text, "--file"):
			scripted = true
			if !strings.Contains(a.text, "=") {
				i++
			}
		case strings.HasPrefix(a.text, "--"):
		case a.option():
			inPlace = inPlace || strings.Contains(a.text, "i")
			if last := a.text[len(a.text)-1]; last == 'e' || last == 'f' && strings.HasSuffix(name, "sed") || last == 'E' && name == "perl" {
				scripted = true
				i++
			}
		default:
			files = append(files, a)
		}
	}
	if !inPlace {
		return
	}
	if !scripted && len(files) > 0 {
		files = files[1:]
	}
	s.writeAll("editing", files, false)
}

// patch judges Codex's own command, which it takes from the shell.
func (s *shell) patch(args []word, stdin string) {
	text := stdin
	for _, a := range args {
		text += "\n" + a.text
	}
	if s.Role == dag.RoleReview {
		s.refuse("apply_patch" + places.ChangesNothing)
	}
	for _, p := range patched(text) {
		if s.dir != "" || filepath.IsAbs(p) {
			if reason := s.MayWrite(s.dir, p); reason != "" {
				s.refuse(reason)
			}
		}
	}
}

// tmux judges what would reach the terminals of others. A server of the
// agent's own, named by -L or -S, is its own business.
func (s *shell) tmux(args []word) {
	ours := true
	i := 0
	for ; i < len(args) && args[i].option(); i++ {
		for _, flag := range []string{"-L", "-S"} {
			v, ok := strings.CutPrefix(args[i].text, flag)
			if !ok {
				continue
			}
			whole := args[i].whole
			if v == "" && i+1 < len(args) {
				i++
				v, whole = args[i].text, args[i].whole
			}
			name, server := filepath.Base(v), cmp.Or(s.Env("CMUX_TMUX_SOCKET"), "cmux")
			ours = whole && (name == "cmux" || name == server || flag == "-S" && name == "default")
			if whole && (name == "cmux" || name == server) {
				s.refuse("tmux on cmux's own server is refused: other agents work there. Use a server of your own: tmux -L NAME")
			}
		}
		if args[i].is("-f", "-c", "-T") {
			i++
		}
	}
	for _, a := range args[min(i, len(args)):] {
		for _, c := range []string{"kill-server", "kill-session"} {
			if ours && len(a.text) > len("kill-s") && strings.HasPrefix(c, a.text) {
				s.refuse("tmux " + c + " is refused: other agents may work there. Use a server of your own: tmux -L NAME " + c)
			}
		}
	}
}

// refusedToSub is why a sub-agent does not report.
const refusedToSub = " is refused to a sub-agent: it would end the task of the agent that started you. Say what you found or could not do in your answer; that agent reports."

// inner are orders of everybody's that only programs give.
var inner = []string{"agents init", "agents exec", "serve", "mcp", "man"}

// cmux lets an agent report and look, not steer the run.
func (s *shell) cmux(args []word) {
	words := plain(args, "")
	if len(words) == 0 || !words[0].whole || has(args, "h", "help") {
		return
	}
	var texts []string
	for _, w := range words {
		texts = append(texts, w.text)
	}
	name, group := rights.Named(texts)
	reports := name == "done" || name == "blocked" || name == "output" || name == "mailbox done" || name == "mailbox blocked"
	with := func(option string) bool { return has(args, "", option) }
	switch {
	case reports && s.sub:
		s.refuse("cmux " + name + refusedToSub)
	case group, name == "help", name == "completion":
	case !contains(rights.All(), name) && (words[0].is(name) || words[1].whole):
		s.refuse(s.noSuch(name))
	case contains(inner, name), rights.IsPersons(name, with) && !(s.Leads && rights.IsLeaders(name, with)) && !(s.Holder.TeamLead && rights.IsTeamLeads(name)) && !(s.Holder.InRoom && rights.IsCoordinators(name, with)):
		by := "the run is steered by a person"
		switch {
		case s.Holder.Stays && !s.Leads && rights.IsLeaders(name, with):
			by = "that is for a supervisor or a person"
		case s.Holder.Stays:
			by = "the organization is steered by a person"
		}
		s.refuse("cmux " + name + " is refused: " + by + ". Report `done`, or report `blocked` and say what you need.")
	case name == "locks with": // runs a command
		dashes := false
		for i, a := range args { // the first may be the value of an option
			if a.is("--") {
				dashes = true
				s.simple(args[i+1:], "")
			}
		}
		if dashes {
			return
		}
		if len(words) > 3 {
			s.simple(words[3:], "")
		}
	}
}

// noSuch says that there is no command of a name, and which ones the agent has.
func (s *shell) noSuch(name string) string {
	group, _, two := strings.Cut(name, " ")
	about, have := "cmux", s.Holder.Names("")
	if two {
		about, have = "cmux "+group, s.Holder.Names(group)
	}
	said := "cmux " + name + " is refused: there is no such command. "
	if len(have) > 0 {
		said += "Of `" + about + "` you have " + strings.Join(have, ", ") + ". "
	}
	return said + "See `" + about + " --help`"
}

// changing are commands that obviously write where they stand: any use, or
// one of the named subcommands.
var changing = map[string][]string{
	"npm":      {"install", "i", "ci", "add", "update", "up", "upgrade", "uninstall", "remove", "rm", "link", "dedupe", "prune", "init", "version", "publish"},
	"pnpm":     {"install", "i", "add", "update", "up", "remove", "rm", "link", "prune", "init", "publish"},
	"yarn":     {"", "install", "add", "upgrade", "up", "remove", "link", "init", "publish"},
	"bun":      {"install", "i", "add", "update", "remove", "link", "init"},
	"pip":      {"install", "uninstall"},
	"pip3":     {"install", "uninstall"},
	"uv":       {"add", "remove", "sync", "lock", "init"},
	"poetry":   {"install", "add", "remove", "update", "lock"},
	"bundle":   {"install", "add", "update"},
	"composer": {"install", "require", "update", "remove"},
	"cargo":    {"add", "remove", "update", "fix", "fmt", "init", "publish"},
	"go":       {"get", "fmt", "generate", "fix", "work"},
	"gofmt":    nil, "goimports": nil, "prettier": nil, "eslint": nil, "black": {"*"}, "rustfmt": {"*"}, "patch": {"*"},
}

// reviewed refuses a review the commands that obviously change the project.
func (s *shell) reviewed(name string, args []word) {
	subs, known := changing[name]
	if !known || s.ownDir() == places.Nobodys {
		return
	}
	words := plain(args, "")
	sub := ""
	if len(words) > 0 {
		sub = words[0].text
	}
	bad := false
	switch name {
	case "gofmt", "goimports":
		bad = has(args, "w")
	case "prettier":
		bad = has(args, "w", "write")
	case "eslint":
		bad = has(args, "", "fix")
	case "black", "rustfmt":
		bad = !has(args, "", "check", "diff")
	case "patch":
		bad = !has(args, "", "dry-run")
	case "cargo":
		bad = contains(subs, sub) && !has(args, "", "check", "dry-run")
	case "go":
		bad = contains(subs, sub) || sub == "mod" && len(words) > 1 && words[1].is("tidy", "edit", "init", "vendor")
	case "yarn":
		bad = contains(subs, sub) && !has(args, "v", "version", "help")
	default:
		bad = contains(subs, sub)
	}
	if bad {
		s.refuse(strings.TrimSpace(name+" "+sub) + s.ChangesNothing())
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
