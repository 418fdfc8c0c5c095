package common

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// State is what all worktrees of a repository have in common beside its
// objects: a change of it in one worktree reaches every other, the person's
// included.
type State struct {
	Config []Setting             `json:"config"`           // as git lists it
	Home   string                `json:"home"`             // whose settings beside the repository's are in it
	Broken string                `json:"broken,omitempty"` // why git cannot list it
	Files  map[string]SharedFile `json:"files"`            // by path in the git directory
	Refs   map[string]string     `json:"refs,omitempty"`   // full name to commit or symbolic target; nil: not read
}

// Setting is one value of git's configuration. A key may have several.
type Setting struct {
	Scope string `json:"scope"` // system, global, local, worktree
	Key   string `json:"key"`
	Value string `json:"value"`
}

// SharedFile is a file of the git directory. Data is nil where it is too large
// to be kept.
type SharedFile struct {
	Mode fs.FileMode `json:"mode"`
	Sum  string      `json:"sum"`
	Data []byte      `json:"data,omitempty"`
}

// Change is a difference between two states of what is shared.
type Change struct {
	Kind ChangeKind
	// Name is the key of a setting, a path in the git directory, or a ref.
	Name     string
	Scope    string // of a setting
	Old, New string // one line each, harmless to print; empty: there was, or is, none
	Undo     string // what brings the old value back, as a person would type it; empty: nothing simple does

	was []string // the setting's old values
}

// ChangeKind says what a Change is a change of.
type ChangeKind int

const (
	ChangedSetting ChangeKind = iota
	ChangedFile
	ChangedRef
)

func (c Change) String() string {
	none := func(v string) string {
		if v == "" {
			return "none"
		}
		return v
	}
	return fmt.Sprintf("%s: %s -> %s", c.What(), none(c.Old), none(c.New))
}

// What names the thing that changed.
func (c Change) What() string {
	switch c.Kind {
	case ChangedSetting:
		name := "setting " + printable(c.Name)
		if c.Scope != "local" {
			name += " (" + c.Scope + ")"
		}
		return name
	case ChangedFile:
		if c.Name == "HEAD" {
			return "HEAD of the main worktree"
		}
		return ".git/" + printable(c.Name)
	}
	for _, p := range []struct{ prefix, word string }{
		{"refs/heads/", "branch "}, {"refs/tags/", "tag "}, {"refs/remotes/", "remote branch "},
	} {
		if rest, ok := strings.CutPrefix(c.Name, p.prefix); ok {
			return p.word + printable(rest)
		}
	}
	return printable(c.Name)
}

// Ordinary reports whether a person or a server changes the like while others
// work: branches, tags, fetched refs, the stash, notes. Without a trace it says
// nothing about who did it.
func (c Change) Ordinary() bool {
	switch c.Kind {
	case ChangedRef:
		return !strings.HasPrefix(c.Name, "refs/replace/") && !strings.HasPrefix(c.Name, "refs/cmux/")
	case ChangedFile:
		return c.Name == "HEAD" || c.Name == "shallow" || c.Name == mainSparse
	}
	if c.Scope != "local" && c.Scope != "worktree" || c.Habit() {
		return !c.Sensitive()
	}
	section, name, _ := cutKey(c.Name)
	return section == "branch" && name != "pushremote" || section == "lfs" || section == "submodule" && name != "update"
}

// Sensitive reports whether the change can make git run another program, look
// at other files or talk to another host: nothing is pushed or merged over it
// until a person has seen it.
func (c Change) Sensitive() bool {
	switch c.Kind {
	case ChangedFile:
		return c.Name != "HEAD" && c.Name != "info/exclude" && c.Name != "shallow" && c.Name != mainSparse
	case ChangedRef:
		return strings.HasPrefix(c.Name, "refs/replace/")
	}
	if c.Habit() {
		return false
	}
	section, name, _ := cutKey(c.Name)
	switch section {
	case "core":
		return slices.Contains([]string{"fsmonitor", "hookspath", "sshcommand", "askpass", "gitproxy", "worktree", "bare",
			"attributesfile", "alternaterefscommand", "editor", "pager", "excludesfile"}, name)
	case "branch":
		return name == "pushremote"
	case "submodule":
		return name == "update"
	case "filter", "merge", "diff", "remote", "url", "credential", "include", "includeif", "http", "https", "ssh", "push",
		"protocol", "gpg", "extensions", "config", "sequence", "transport", "sendpack", "pack", "uploadpack", "remotes":
		return true
	case "":
		return true // a configuration that cannot be read
	}
	return false
}

// lfs are the settings that git lfs install makes, with and without the files of
// the server.
var lfs = map[string][]string{
	"clean":    {"git-lfs clean -- %f"},
	"smudge":   {"git-lfs smudge -- %f", "git-lfs smudge --skip -- %f"},
	"process":  {"git-lfs filter-process", "git-lfs filter-process --skip"},
	"required": {"true"},
}

// Habit reports whether the change is a setting that tools make in every clone and
// that takes nothing from anybody: it names no program but git-lfs as its installer
// writes it, and no place outside the repository. One that is taken back, or was
// another, is none.
func (c Change) Habit() bool {
	section, name, sub := cutKey(c.Name)
	if c.Kind != ChangedSetting || c.Scope != "local" && c.Scope != "worktree" || c.New == "" {
		return false
	}
	is := func(names ...string) bool { return slices.Contains(names, name) }
	switch section {
	case "filter":
		return sub == "lfs" && slices.Contains(lfs[name], c.New) && (c.Old == "" || slices.Contains(lfs[name], c.Old))
	case "lfs":
		return is("repositoryformatversion", "locksverify", "access")
	case "blame":
		return is("ignorerevsfile") && filepath.IsLocal(c.New)
	case "diff":
		return sub != "" && is("binary", "xfuncname", "funcname", "wordregex")
	case "extensions":
		return is("worktreeconfig") && c.New == "true"
	case "core":
		return is("repositoryformatversion") && c.New == "1" || c.Scope == "worktree" && is("sparsecheckout", "sparsecheckoutcone")
	case "index":
		return c.Scope == "worktree" && is("sparse")
	}
	return false
}

// The main worktree's own settings, and which files its sparse checkout has. No
// other worktree reads them.
const (
	mainSettings = "config.worktree"
	mainSparse   = "info/sparse-checkout"
)

// sameButSparse reports whether two states of a worktree's own settings differ in
// nothing but what git sparse-checkout writes there.
func sameButSparse(was, is SharedFile) bool {
	rest := func(f SharedFile) (all []string, ok bool) {
		section := ""
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimSpace(line)
			key, value, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(line, " ", "")), "=")
			switch {
			case strings.HasPrefix(line, "["):
				section = line
			case line == "", (value == "true" || value == "false") &&
				(section == "[core]" && (key == "sparsecheckout" || key == "sparsecheckoutcone") || section == "[index]" && key == "sparse"):
			default:
				all = append(all, section+line)
			}
		}
		// A line that goes on in the next one is not told from another here.
		return all, (f.Mode.IsRegular() || f.Sum == "") && int64(len(f.Data)) < maxKept && !strings.Contains(string(f.Data), `\`)
	}
	a, known := rest(was)
	b, too := rest(is)
	return known && too && slices.Equal(a, b)
}

// Runs reports whether the change can make a merge, a checkout or a look at a
// worktree run another program or see other files.
func (c Change) Runs() bool {
	switch c.Kind {
	case ChangedFile:
		return strings.HasPrefix(c.Name, "info/") && c.Name != "info/exclude" && c.Name != mainSparse || !strings.HasPrefix(c.Name, "hooks/") && c.Sensitive() && !strings.Contains(c.Name, "/hooks/")
	case ChangedRef:
		return false
	}
	if c.Habit() {
		return false
	}
	section, name, _ := cutKey(c.Name)
	switch section {
	case "core":
		return slices.Contains([]string{"worktree", "bare", "attributesfile", "excludesfile"}, name)
	case "filter", "merge", "include", "includeif", "extensions", "":
		return true
	case "submodule":
		return name == "update"
	}
	return false
}

// Pushes reports whether a change since s can decide where a push goes or what
// runs beside it. The person's further remote or commit hook does not.
func (s *State) Pushes(c Change) bool {
	if !c.Sensitive() {
		return false
	}
	if c.Kind == ChangedFile {
		hook, ok := strings.CutPrefix(c.Name, "hooks/")
		return !ok && c.Name != "info/attributes" ||
			ok && s.hasHooks() && (hook == "pre-push" || hook == "reference-transaction")
	}
	section, name, sub := cutKey(c.Name)
	switch section {
	case "core":
		return slices.Contains([]string{"sshcommand", "askpass", "gitproxy", "worktree", "bare"}, name)
	case "filter", "merge", "diff":
		return false
	case "remote":
		known, any := false, false
		for _, e := range s.Config {
			if section, _, of := cutKey(e.Key); section == "remote" && of != "" {
				known, any = known || of == sub, true
			}
		}
		return sub == "" || known || !any
	}
	return true
}

func (s *State) hasHooks() bool {
	for name := range s.Files {
		if strings.HasPrefix(name, "hooks/") {
			return true
		}
	}
	return false
}

// HooksPath is a value of core.hooksPath under which git runs the hooks that were
// there, and none that came since where there were none.
func (s *State) HooksPath(gitDir string) string {
	path := ""
	for _, e := range s.Config {
		if e.Key == "core.hookspath" {
			path = e.Value
		}
	}
	switch {
	case path != "":
		return path
	case s.hasHooks():
		return filepath.Join(gitDir, "hooks")
	}
	return os.DevNull
}

// Local is the last value of a setting of the repository itself.
func (s *State) Local(key string) (value string, ok bool) {
	for _, e := range s.Config {
		if e.Scope == "local" && e.Key == key {
			value, ok = e.Value, true
		}
	}
	return value, ok
}

// ErrNoRemote says that nothing names the remote that a branch is pushed to.
var ErrNoRemote = errors.New("no remote to push to")

// PushRemote returns the remote that a push of branch goes to, as git finds it: the
// branch's pushRemote, remote.pushDefault, the branch's remote, the only remote,
// origin. A new branch of a repository with several remotes and no origin goes where
// base goes, the branch that the run started from ("": none). Without any of these
// the error is a *hint.Error of ErrNoRemote.
func (s *State) PushRemote(branch, base string) (string, error) {
	last, remotes := map[string]string{}, map[string]bool{}
	for _, e := range s.Config {
		last[e.Key] = e.Value
		if section, name, remote := cutKey(e.Key); section == "remote" && remote != "" && (name == "url" || name == "pushurl") {
			remotes[remote] = true
		}
	}
	named := func(keys ...string) string {
		for _, key := range keys {
			if v := last[key]; v != "" && v != "." { // "." is the repository itself
				return v
			}
		}
		return ""
	}
	remote := named("branch."+branch+".pushremote", "remote.pushdefault", "branch."+branch+".remote")
	if remote == "" && len(remotes) == 1 {
		for remote = range remotes {
		}
	}
	if remote == "" && remotes["origin"] {
		remote = "origin"
	}
	if remote == "" && base != "" {
		remote = named("branch."+base+".pushremote", "branch."+base+".remote")
	}
	names := slices.Sorted(maps.Keys(remotes))
	switch {
	case remote == "" && len(names) == 0:
		return "", hint.Errorf("git remote add origin URL, or take push and pr out of on_complete", "%w: the repository has no remote", ErrNoRemote)
	case remote == "":
		return "", hint.Errorf("git config remote.pushDefault "+git.ShellWord(names[0]), "%w: the repository has the remotes %s, and none of them is named for a push", ErrNoRemote, strings.Join(names, ", "))
	case !remotes[remote] && !strings.ContainsAny(remote, "/:"): // else a URL or a path
		have := "the repository has no remote"
		if len(names) > 0 {
			have = "the repository has " + strings.Join(names, ", ")
		}
		return "", hint.Errorf("git remote add "+git.ShellWord(remote)+" URL", "%w: git's settings name %s, and %s", ErrNoRemote, remote, have)
	}
	return remote, nil
}

// Reach asks the remote what it has, and so finds a wrong URL or a missing right
// before there is something to push. The error holds git's own words. Git asks
// nobody for a password.
func (d Dir) Reach(ctx context.Context, remote string) error {
	_, err := git.Command{Dir: d.repo.Root, Args: []string{"ls-remote", "--quiet", "--", remote, "HEAD"},
		Env: []string{"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS_REQUIRE=never"}}.Run(ctx)
	return err
}

// cutKey is the section and the last name of a key, in lower case, and what
// stands between them.
func cutKey(key string) (section, name, sub string) {
	section, rest, _ := strings.Cut(key, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		sub, rest = rest[:i], rest[i+1:]
	}
	return strings.ToLower(section), strings.ToLower(rest), sub
}

// Compare lists what differs between two states, in a fixed order. Refs are
// compared where both states have them.
func (s *State) Compare(now *State) []Change {
	all := s.settings(now)
	for _, name := range unionKeys(s.Files, now.Files) {
		// What the file config holds stands in Config, key by key.
		old, was := s.Files[name]
		new, is := now.Files[name]
		if was == is && old.Sum == new.Sum && old.Mode == new.Mode || name == "config" {
			continue
		}
		if name == mainSettings && sameButSparse(old, new) {
			continue
		}
		c := Change{Kind: ChangedFile, Name: name, Old: old.describe(was), New: new.describe(is)}
		if c.Old == c.New {
			c.Old, c.New = c.Old+" "+old.Sum[:8], c.New+" "+new.Sum[:8]
		}
		all = append(all, c)
	}
	if s.Refs == nil || now.Refs == nil {
		return all
	}
	for _, name := range unionKeys(s.Refs, now.Refs) {
		old, new := s.Refs[name], now.Refs[name]
		if old == new || old == "" && isKept(name, new) {
			continue
		}
		c := Change{Kind: ChangedRef, Name: name, Old: old, New: new}
		switch quoted := git.ShellWord(name); {
		case old == "" && strings.HasPrefix(new, "ref: "):
			c.Undo = "git symbolic-ref -d " + quoted
		case old == "":
			c.Undo = kept(name, new) + "git update-ref -d " + quoted + " " + new
		case strings.HasPrefix(old, "ref: "):
			c.Undo = "git symbolic-ref " + quoted + " " + git.ShellWord(strings.TrimPrefix(old, "ref: "))
		case strings.HasPrefix(new, "ref: "):
			c.Undo = "git update-ref --no-deref " + quoted + " " + old
		case new == "":
			c.Undo = "git update-ref " + quoted + " " + old + " ''" // unless it is there again
		default:
			c.Undo = kept(name, new) + "git update-ref " + quoted + " " + old + " " + new
		}
		all = append(all, c)
	}
	return all
}

// keptRef is the ref that keeps what the ref name holds before an undo takes it away.
func keptRef(name, commit string) string {
	return "refs/cmux/undone/" + commit[:min(12, len(commit))] + strings.TrimPrefix(name, "refs")
}

// kept is the command that makes the ref of keptRef.
func kept(name, commit string) string {
	return "git update-ref " + git.ShellWord(keptRef(name, commit)) + " " + commit + " && "
}

// isKept reports whether a new ref is what an undo left. Nothing else reads such a
// ref, and its name tells what it is, so it is no change to tell a person.
func isKept(name, commit string) bool {
	return strings.HasPrefix(name, keptRef("refs/", commit))
}

func (s *State) settings(now *State) []Change {
	if now.Broken != s.Broken {
		c := Change{Kind: ChangedFile, Name: "config", Old: "readable", New: printable(now.Broken)}
		if now.Broken == "" {
			c.Old, c.New = printable(s.Broken), "readable"
		}
		return []Change{c}
	}
	type id struct{ scope, key string }
	group := func(all []Setting) map[id][]string {
		m := make(map[id][]string, len(all))
		for _, e := range all {
			k := id{e.Scope, e.Key}
			m[k] = append(m[k], e.Value)
		}
		return m
	}
	was, is := group(s.Config), group(now.Config)
	if s.Home != now.Home { // another person's, or another place's
		for _, m := range []map[id][]string{was, is} {
			maps.DeleteFunc(m, func(k id, _ []string) bool { return k.scope != "local" && k.scope != "worktree" })
		}
	}
	ids := slices.Collect(maps.Keys(was))
	for k := range is {
		if _, ok := was[k]; !ok {
			ids = append(ids, k)
		}
	}
	slices.SortFunc(ids, func(a, b id) int { return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.scope, b.scope)) })
	var all []Change
	for _, k := range ids {
		if slices.Equal(was[k], is[k]) {
			continue
		}
		c := Change{Kind: ChangedSetting, Name: k.key, Scope: k.scope, Old: values(k.key, was[k]), New: values(k.key, is[k]), was: was[k]}
		switch {
		case c.Old == c.New: // they differ in what is not shown
			c.New += " (another)"
			fallthrough
		case len(was[k]) > 1:
		case len(is[k]) > 0 && (len(is[k]) > 1 || values(k.key, is[k]) != is[k][0]): // the message does not hold what would be lost
		case len(was[k]) == 0:
			c.Undo = "git config --" + k.scope + " --unset-all " + git.ShellWord(k.key)
		case values(k.key, was[k]) == was[k][0]:
			c.Undo = "git config --" + k.scope + " --replace-all " + git.ShellWord(k.key) + " " + git.ShellWord(was[k][0])
		}
		all = append(all, c)
	}
	return all
}

// values shows a setting's values, without what they hold of secrets.
func values(key string, all []string) string {
	shown := make([]string, len(all))
	for i, v := range all {
		section, name, _ := cutKey(key)
		switch {
		case name == "extraheader", strings.Contains(name, "password"), strings.Contains(name, "token"), strings.Contains(name, "secret"):
			shown[i] = "(hidden)"
			continue
		case section == "remote", section == "url", section == "http":
			if u, err := url.Parse(v); err == nil && u.User != nil && u.Host != "" {
				if _, secret := u.User.Password(); secret {
					u.User = url.UserPassword(u.User.Username(), "hidden")
					v = u.String()
				}
			}
		}
		if shown[i] = printable(v); v == "" {
			shown[i] = `""`
		}
	}
	return strings.Join(shown, ", ")
}

func (f SharedFile) describe(there bool) string {
	if !there {
		return ""
	}
	what := fmt.Sprintf("%d bytes", len(f.Data))
	switch {
	case f.Mode&fs.ModeSymlink != 0:
		return "link to " + printable(string(f.Data))
	case !f.Mode.IsRegular():
		return f.Mode.Type().String()
	case f.Data == nil:
		what = "a large file"
	case len(f.Data) <= 80 && strings.Count(strings.TrimSuffix(string(f.Data), "\n"), "\n") == 0:
		what = strconv.Quote(strings.TrimSuffix(string(f.Data), "\n"))
	}
	if f.Mode.Perm()&0o111 != 0 {
		what += ", executable"
	}
	return what
}

const maxShown = 200 // of a value

// printable is v as one line that no terminal obeys.
func printable(v string) string {
	if len(v) > maxShown {
		v = v[:maxShown] + "..."
	}
	if strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(v)
	}
	return v
}

func unionKeys[V any](a, b map[string]V) []string {
	all := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	return all
}

// As returns settings for WithConfig under which git reads the configuration
// as it was before the changes, as far as programs and files are named in it:
// cmux's own git can save what is there without running what was put there.
func As(changes []Change) []string {
	var settings []string
	for _, c := range changes {
		if c.Kind != ChangedSetting || !c.Sensitive() || strings.ContainsAny(c.Name, "=\n") {
			continue
		}
		section, _, _ := cutKey(c.Name)
		switch {
		case section == "include" || section == "includeif" || section == "extensions":
		case len(c.was) == 0:
			settings = append(settings, c.Name+"=")
		default:
			settings = append(settings, c.Name+"="+c.was[len(c.was)-1])
		}
	}
	return settings
}

// Explain reports whether cmux made the change, or whoever works on a branch
// that cmux has lent: owns are all changes that cmux recorded, out are the
// branches of other linked worktrees, and others is what else than cmux wrote of
// an info/exclude.
func (d Dir) Explain(ctx context.Context, before, now *State, c Change, owns []git.Own, out map[string]string, others func([]byte) []byte) bool {
	switch c.Kind {
	case ChangedRef:
		if _, worked := out[c.Name]; worked {
			return true
		}
		lent := false
		for _, o := range owns {
			if o.Ref == c.Name && o.New == c.New {
				return true
			}
			lent = lent || o.Ref == c.Name
		}
		if !lent || c.New == "" || strings.HasPrefix(c.New, "ref: ") || !strings.HasPrefix(c.Name, "refs/heads/") {
			return false
		}
		if c.Old == "" {
			return true
		}
		grew, err := d.repo.Holds(ctx, c.New, c.Old)
		return err == nil && grew
	case ChangedFile:
		return c.Name == "info/exclude" && sameButOwn(others(before.Files[c.Name].Data), others(now.Files[c.Name].Data), owns)
	}
	return slices.ContainsFunc(owns, func(o git.Own) bool {
		return o.Key == c.Name && o.New == c.New && (c.New == "" || c.Ordinary())
	})
}

// sameButOwn reports whether two states of info/exclude differ in nothing but
// the lines that cmux adds for links.
func sameButOwn(before, now []byte, owns []git.Own) bool {
	rest := func(b []byte) []string {
		lines := strings.Split(string(b), "\n")
		return slices.DeleteFunc(lines, func(l string) bool {
			return strings.TrimSpace(l) == "" || slices.ContainsFunc(owns, func(o git.Own) bool { return o.Key == git.ExcludeKey && o.New == l })
		})
	}
	return slices.Equal(rest(before), rest(now))
}
