package guard

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/kinds/guard/places"
)

// gitWrites are the subcommands that change a working tree, an index or refs.
var gitWrites = map[string]bool{
	"add": true, "am": true, "apply": true, "bisect": true, "checkout": true, "checkout-index": true,
	"cherry-pick": true, "clean": true, "commit": true, "fast-import": true, "fetch": true, "merge": true, "mv": true,
	"pull": true, "push": true, "read-tree": true, "rebase": true, "replace": true, "reset": true, "restore": true,
	"revert": true, "rm": true, "sparse-checkout": true, "stage": true, "switch": true, "update-index": true,
	"update-ref": true,
}

// git judges a git command. Commands in a repository of the agent's own
// making, outside of the project, are let pass, and so are those that stand
// where it cannot be told.
func (s *shell) git(args []word) {
	dir, trees := s.dir, s.trees
	defer func() { s.dir, s.trees = dir, trees }()
	aliases, elsewhere := make(map[string]string), false
	i := 0
	for ; i < len(args) && args[i].option(); i++ {
		value := word{}
		if i+1 < len(args) {
			value = args[i+1]
		}
		name, inline, attached := strings.Cut(args[i].text, "=")
		if attached {
			value = word{inline, args[i].whole}
		}
		switch name {
		case "-C":
			s.dir = s.at(value)
		case "--git-dir", "--work-tree":
			s.leadGit(name == "--git-dir", value)
		case "-c", "--config-env":
			key, v, _ := strings.Cut(value.text, "=")
			if len(key) > len("alias.") && strings.EqualFold(key[:len("alias.")], "alias.") {
				aliases[strings.ToLower(key[len("alias."):])] = v
			}
			key = strings.ToLower(key)
			if key == "core.worktree" {
				s.leadGit(false, word{v, value.whole})
			}
			elsewhere = elsewhere || strings.HasPrefix(key, "remote.") || strings.HasPrefix(key, "url.")
		case "--namespace", "--super-prefix", "--attr-source":
		default:
			continue
		}
		if !attached {
			i++
		}
	}
	if i >= len(args) || !args[i].whole {
		return
	}
	sub, rest := args[i].text, args[i+1:]
	if alias, ok := aliases[strings.ToLower(sub)]; ok && s.depth < maxDepth {
		if script, ok := strings.CutPrefix(alias, "!"); ok {
			s.script(script)
			return
		}
		s.depth++
		defer func() { s.depth-- }()
		var words []word
		for _, f := range strings.Fields(alias) {
			words = append(words, literal(f))
		}
		s.git(append(words, rest...))
		return
	}
	if sub == "config" && s.config(rest) {
		return
	}
	if has(rest, "", "help") {
		return
	}
	s.outputs(sub, rest)
	s.gitFiles(sub, rest)
	place := s.gitPlace(sub)
	if place == places.Nobodys {
		return
	}
	if sub == "push" && elsewhere {
		s.refuse("git push with another place for a remote is refused: " + s.pushOnly())
	}
	if reason := s.gitSub(sub, rest, place); reason != "" {
		s.refuse(reason)
	}
	if sub == "mv" && writesGit(sub, rest) { // it follows the links to where it moves to, also out of the worktree
		s.writeAll("moving", plain(rest, ""), true)
	}
}

// gitLead is a place that git is led to, as it is called where git stands.
type gitLead struct {
	repository bool // else a tree
	at         word
}

func (s *shell) leadGit(repository bool, at word) {
	s.trees = append(slices.Clip(s.trees), gitLead{repository, at})
}

// gitTree are the subcommands that write files where git stands, whatever the
// repository is, when no tree is named.
var gitTree = []string{
	"am", "apply", "checkout", "checkout-index", "cherry-pick", "clean", "merge", "mv", "pull", "read-tree", "rebase", "reset", "restore", "revert",
	"rm", "sparse-checkout", "switch",
}

// gitPlace is whose the worst of the places is that options, variables and
// settings lead git to, in whatever order; every -C is taken in before.
func (s *shell) gitPlace(sub string) places.Whose {
	dir, worst, repository, tree := s.dir, places.Nobodys, false, false
	defer func() { s.dir = dir }()
	for _, t := range s.trees {
		s.dir = dir
		s.dir = s.at(t.at)
		worst = max(worst, s.ownDir())
		repository, tree = repository || t.repository, tree || !t.repository
	}
	s.dir = dir
	if !repository || !tree && slices.Contains(gitTree, sub) {
		worst = max(worst, s.ownDir())
	}
	return worst
}

// gitFiles judges the folders and files that git writes wherever it stands.
func (s *shell) gitFiles(sub string, args []word) {
	switch sub {
	case "checkout-index":
		prefixes, _ := values(args, "", "", []string{"prefix"})
		for _, p := range prefixes { // the names of files follow it at once
			s.write("writing", word{p.text + "x", p.whole}, false)
		}
	case "clone":
		if words := plain(args, "bocuj", "branch", "origin", "config", "upload-pack", "depth", "jobs", "reference", "filter", "template", "server-option", "shallow-since", "shallow-exclude", "separate-git-dir", "bundle-uri", "ref-format"); len(words) > 1 {
			s.write("writing", words[1], false)
		}
	case "init":
		for _, w := range plain(args, "b", "initial-branch", "template", "object-format", "ref-format", "separate-git-dir") {
			s.write("writing", w, false)
		}
	case "merge-file":
		if words := plain(args, "L", "marker-size", "diff-algorithm"); len(words) > 0 && !has(args, "p", "stdout") {
			s.write("writing", words[0], false)
		}
	case "interpret-trailers":
		if has(args, "", "in-place") {
			s.writeAll("editing", plain(args, "", "trailer", "where", "if-exists", "if-missing"), false)
		}
	}
}

// outputs judges the files that git writes what it prints to.
func (s *shell) outputs(sub string, args []word) {
	for i, a := range args {
		if a.is("--") {
			return
		}
		name, value, attached := strings.Cut(a.text, "=")
		to := word{value, a.whole}
		if !attached && i+1 < len(args) {
			to = args[i+1]
		}
		short := sub == "archive" || sub == "format-patch" || sub == "bugreport" || sub == "diagnose"
		switch {
		case len(name) > len("--ou") && (strings.HasPrefix("--output", name) || strings.HasPrefix("--output-directory", name)):
			s.write("writing", to, false)
		case short && a.is("-o") && i+1 < len(args):
			s.write("writing", args[i+1], false)
		case short && strings.HasPrefix(a.text, "-o") && len(a.text) > len("-o"):
			s.write("writing", word{a.text[len("-o"):], a.whole}, false)
		case sub == "bundle" && a.is("create") && i+1 < len(args):
			if files := plain(args[i+1:], ""); len(files) > 0 {
				s.write("writing", files[0], false)
			}
		}
	}
}

// config judges what is written to a configuration that is not of a repository;
// it reports whether it was one.
func (s *shell) config(args []word) bool {
	if !writesGit("config", args) || has(args, "", "help") {
		return false
	}
	if has(args, "", "global", "system") {
		s.refuse("git config is refused: a person's own configuration holds for everything on this machine. For one command: git -c KEY=VALUE ...")
		return true
	}
	for i, a := range args {
		if file, ok := strings.CutPrefix(a.text, "--file="); ok {
			s.write("writing", word{file, a.whole}, false)
			return true
		}
		if a.is("-f", "--file") && i+1 < len(args) {
			s.write("writing", args[i+1], false)
			return true
		}
	}
	return false
}

func (s *shell) gitSub(sub string, args []word, place places.Whose) string {
	if reason := s.gitShared(sub, args); reason != "" {
		return reason
	}
	if !writesGit(sub, args) {
		return ""
	}
	switch {
	case s.ReadsOnly():
		return "git " + sub + s.ChangesNothing()
	case s.Shared && place == places.Own && (sub == "clean" || sub == "rebase" || sub == "reset" && has(args, "", "hard", "merge", "keep")):
		return fmt.Sprintf("git %s is refused: others work in %s too, and it would undo what they have not committed. Bring single files of your own back: git restore FILE", sub, s.Home)
	case place == places.Peers:
		return fmt.Sprintf("git %s is refused: it is another agent's worktree. Work in %s only.", sub, s.Home)
	case place == places.Persons:
		return fmt.Sprintf("git %s is refused: it is the project's own checkout. Work in %s only.", sub, s.Home)
	case (sub == "rm" || sub == "mv" || sub == "restore" && (!has(args, "S", "staged") || has(args, "W", "worktree") || ofCommit(args))) && len(args) > 0:
		for _, a := range plain(args, "s", "source", "pathspec-from-file") {
			if reason := s.zoned("git "+sub, a, sub != "restore" || ofCommit(args)); reason != "" {
				return reason
			}
			if places.StateOf(filepath.ToSlash(filepath.Clean(a.text))) == ".cmux" {
				return places.InState("git "+sub+" "+a.text, ".cmux")
			}
			if s.OrdersAt(a.text, true) {
				return places.GivesOrders("git " + sub + " " + a.text)
			}
		}
	}
	return ""
}

// ofCommit reports whether git restore takes files from a commit. Git takes a part of
// an option's name for it.
func ofCommit(args []word) bool {
	return has(args, "s", "source") || slices.ContainsFunc(args, func(a word) bool { return strings.HasPrefix(a.text, "--so") })
}

// zoned says why a file of the worktree that git is to change is not to be. whole
// says that a zone below a folder counts: what brings back a folder as it was undoes
// changes, and is left to the agent.
func (s *shell) zoned(doing string, w word, whole bool) string {
	p := w.text
	if !w.whole || p == "" {
		return ""
	}
	if !filepath.IsAbs(p) {
		if s.dir == "" {
			return ""
		}
		p = filepath.Join(s.dir, p)
	}
	if reason := s.Forbids(doing+" "+w.text, s.Written(s.dir, p), whole); reason != "" {
		return reason
	}
	r, err := s.Resolved(p)
	if err != nil {
		return ""
	}
	return s.Forbids(doing+" "+w.text, s.SpotOf(r), whole)
}

// writesGit reports whether a subcommand with these arguments changes anything.
func writesGit(sub string, args []word) bool {
	words := plain(args, "")
	switch sub {
	case "apply":
		return !has(args, "", "check", "stat", "numstat", "summary") || has(args, "", "apply")
	case "add", "rm", "mv", "clean", "commit", "push", "fetch":
		return !has(args, "", "dry-run") && (sub == "commit" || sub == "fetch" || !has(args, "n"))
	case "branch":
		return has(args, "cCudDmMf", "set-upstream-to", "unset-upstream", "edit-description") ||
			len(words) > 0 && !has(args, "lravn", "list", "contains", "no-contains", "merged", "no-merged", "points-at", "show-current", "format", "sort")
	case "tag":
		return len(words) > 0 && !has(args, "lnv", "list", "contains", "no-contains", "merged", "no-merged", "points-at", "verify", "format", "sort")
	case "notes":
		return len(words) > 0 && !words[0].is("list", "show")
	case "remote":
		return len(words) > 0 && !words[0].is("show", "get-url")
	case "submodule":
		return len(words) > 0 && !words[0].is("status", "summary", "foreach")
	case "config":
		words := plain(args, "f", "file", "blob", "type", "default")
		return len(words) > 0 && words[0].is("edit") || has(args, "e", "add", "unset", "unset-all", "replace-all", "rename-section", "remove-section", "edit") ||
			len(words) > 1 && !words[0].is("get", "list") && !has(args, "l", "get", "get-all", "get-regexp", "get-urlmatch", "list")
	}
	return gitWrites[sub]
}

// gitShared refuses what reaches beyond the node's own tree and branch.
func (s *shell) gitShared(sub string, args []word) string {
	words := plain(args, "")
	first := word{}
	if len(words) > 0 {
		first = words[0]
	}
	refused := func(what, instead string) string { return "git " + what + " is refused: " + instead }
	const keep = "it removes what other agents still need. Leave it to the person."
	switch sub {
	case "stash":
		if !first.is("list", "show") {
			return refused("stash", "stashes are shared by all worktrees of the repository. Commit to your branch instead; to set work aside, commit it and go on.")
		}
	case "worktree":
		if !first.is("list") {
			return refused("worktree "+first.text, "cmux manages the worktrees of this repository. Stay in "+s.Home+"; to read another state: git show REF:PATH")
		}
	case "gc", "prune", "repack", "maintenance", "filter-branch", "filter-repo", "replace":
		return refused(sub, keep)
	case "reflog":
		if first.is("expire", "delete", "drop") {
			return refused("reflog "+first.text, keep)
		}
	case "branch":
		if has(args, "dDmMfC", "delete", "move", "force") {
			return refused("branch", "deleting, moving or forcing branches reaches other agents. Work on your own branch"+s.named()+" and leave the others as they are.")
		}
	case "config":
		if writesGit(sub, args) {
			return refused("config", "all worktrees of the repository share its configuration. For one command: git -c KEY=VALUE ...")
		}
	case "remote":
		if first.is("add", "rename", "rm", "remove", "set-url", "set-head", "set-branches", "prune") {
			return refused("remote "+first.text, "all worktrees of the repository share its remotes. Leave them as they are.")
		}
	case "lfs":
		if first.is("install", "uninstall") {
			return refused("lfs "+first.text, "all worktrees of the repository share its configuration and hooks.")
		}
	case "tag":
		if writesGit(sub, args) || has(args, "df", "delete", "force") {
			return refused("tag", "all worktrees of the repository share its tags. Leave them as they are, and name the tag in your summary.")
		}
	case "push":
		return s.push(args)
	case "fetch":
		for i, w := range words {
			if _, to, ok := strings.Cut(w.text, ":"); i > 0 && ok && w.whole && to != "" && !strings.HasPrefix(to, "refs/remotes/") {
				return refused("fetch "+w.text, "it moves a branch of this repository. Fetch without a destination.")
			}
		}
	case "update-ref":
		if has(args, "", "stdin") || has(args, "d") || first.whole && !first.is("HEAD", "refs/heads/"+s.Branch) {
			return refused("update-ref", "only your own branch is yours to move"+s.named()+". Use git commit, merge or reset.")
		}
	case "symbolic-ref":
		if len(words) > 1 || has(args, "d", "delete") {
			return refused("symbolic-ref", "your branch"+s.named()+" must stay checked out.")
		}
	case "checkout", "switch":
		if !s.ReadsOnly() { // who changes nothing is refused it as a whole
			return s.checkout(sub, args)
		}
	}
	return ""
}

// named is the node's branch in parentheses.
func (s *shell) named() string {
	if s.Branch == "" {
		return ""
	}
	return " (" + s.Branch + ")"
}

// pushOnly says what may be pushed.
func (s *shell) pushOnly() string {
	if s.Branch == "" {
		return "you have no branch to push."
	}
	return "only your own branch" + s.named() + " may be pushed, to a remote of the repository: git push origin " + s.Branch
}

func (s *shell) push(args []word) string {
	only := s.pushOnly()
	if s.Branch == "" || has(args, "d", "delete", "mirror", "prune", "all", "branches", "tags", "follow-tags", "repo", "receive-pack", "exec") {
		return "git push is refused: " + only
	}
	words := plain(args, "o", "push-option", "receive-pack", "exec", "repo")
	for i, w := range words {
		if !w.whole {
			continue
		}
		if i == 0 {
			if strings.ContainsAny(w.text, ":/\\") || w.is(".", "..") {
				return "git push " + w.text + " is refused: " + only
			}
			continue
		}
		from, to, ok := strings.Cut(strings.TrimPrefix(w.text, "+"), ":")
		if !ok {
			to = from
		}
		to = strings.TrimPrefix(to, "refs/heads/")
		if from == "" && ok || to != s.Branch && !(to == "HEAD" && !ok) {
			return "git push " + w.text + " is refused: " + only
		}
	}
	return ""
}

// checkout keeps the node's own branch checked out. What may be a file or a
// branch is taken for a branch, unless it looks like a file.
func (s *shell) checkout(sub string, args []word) string {
	stay := fmt.Sprintf("git %s of another branch is refused: %s must stay checked out here. To read another state: git show REF:PATH or git diff REF; to bring files back: git restore PATH, or git checkout -- PATH", sub, orHead(s.Branch))
	making := "bBd"
	if sub == "switch" {
		making = "cCd"
	}
	if has(args, making, "orphan", "detach", "create", "force-create") {
		return stay
	}
	for i, a := range args {
		if a.is("--") && sub == "checkout" {
			for _, file := range args[i+1:] {
				if reason := s.zoned("git checkout --", file, len(plain(args[:i], "", "conflict")) > 0); reason != "" {
					return reason
				}
			}
			return ""
		}
	}
	if sub == "checkout" && has(args, "p", "patch", "ours", "theirs", "pathspec-from-file") {
		return ""
	}
	for _, a := range args {
		if a.is("-") {
			return stay
		}
	}
	words := plain(args, "", "conflict")
	if len(words) != 1 && sub == "checkout" || len(words) == 0 {
		return ""
	}
	w := words[0]
	if !w.whole || w.is(s.Branch, "HEAD", "@") || sub == "checkout" && looksLikeFile(w.text) {
		return ""
	}
	return stay
}

func orHead(branch string) string {
	if branch == "" {
		return "what is checked out"
	}
	return branch
}

func looksLikeFile(name string) bool {
	if name == "." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, ":") ||
		strings.HasSuffix(name, "/") || strings.ContainsAny(name, "*?[") || filepath.IsAbs(name) {
		return true
	}
	ext := strings.TrimPrefix(path.Ext(name), ".")
	return ext != "" && (ext[0] < '0' || ext[0] > '9')
}
