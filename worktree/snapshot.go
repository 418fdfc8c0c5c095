package worktree

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	snapshotRefs = "refs/cmux/snapshots/"
	stampFormat  = "20060102T150405.000Z"

	maxUntracked = 50 << 20 // bytes; a larger untracked file is refused
	maxIgnored   = 1 << 20  // bytes; an ignored file of this size or more is only listed
)

// SnapshotSpec says under which name and why.
type SnapshotSpec struct {
	Name   string // node or branch; becomes part of the ref
	Reason string // one line

	leaving bool // the worktree goes, and with it what its private git directory alone names
}

// Snapshot is saved work: a commit whose tree describes the state (the raw
// index, what git keeps of an unended merge or rebase, unmerged stages,
// unusual file modes) and whose parents are HEAD, the index and the working
// tree.
type Snapshot struct {
	ID        string // NAME/TIME, what RestoreCommand names
	Ref       string
	Commit    string
	Name      string
	Reason    string
	Time      time.Time
	Path      string   // of the worktree
	Branch    string   // short; empty when HEAD was detached
	Head      string   // commit; empty on a branch without commits
	Owner     string   // of the tree, see LendSpec
	Operation string   // merge, rebase, ... that was in progress
	Omitted   []string // paths that are not in it: ignored ones, pipes, sockets, devices
	Bare      bool     // holds a branch's commits alone
	Kept      []Kept   // commits and the like that no ref held
}

// RestoreCommand brings the snapshot back.
func (s *Snapshot) RestoreCommand() string { return "cmux snapshots restore " + s.ID }

// snapshotRecord is snapshot.json.
type snapshotRecord struct {
	Version   int       `json:"version"`
	Name      string    `json:"name"`
	Reason    string    `json:"reason"`
	Time      time.Time `json:"time"`
	Path      string    `json:"path"`
	Branch    string    `json:"branch"`
	Head      string    `json:"head"`
	Owner     string    `json:"owner,omitempty"`
	Operation string    `json:"operation,omitempty"`
	Omitted   []string  `json:"omitted,omitempty"`
	Bare      bool      `json:"bare,omitempty"`
	Kept      []Kept    `json:"kept,omitempty"`
}

// Names in a snapshot commit's tree.
const (
	snapRecord = "snapshot.json"
	snapIndex  = "index"  // the index file, raw
	snapModes  = "modes"  // "0600 PATH\0" of files whose mode git cannot say
	snapState  = "state"  // files of the private git directory
	snapKept   = "kept"   // tags (their text), trees and blobs that no ref held, by id
	snapStages = "stages" // objects only the index names, so that gc keeps them: 1/, 2/, 3/ unmerged entries, 0 the empty one of git add -N
)

// stateFiles are what git keeps in the private directory of an unended
// operation; those in heldFiles contain ids of commits to keep.
var (
	stateFiles = []string{"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_AUTOSTASH", "AUTO_MERGE", "SQUASH_MSG",
		"CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD", "sequencer", "rebase-merge", "rebase-apply",
		"BISECT_LOG", "BISECT_NAMES", "BISECT_TERMS", "BISECT_START", "BISECT_EXPECTED_REV", "BISECT_ANCESTORS_OK",
		"refs"} // refs/bisect, refs/rewritten, refs/worktree
	heldFiles = []string{"MERGE_HEAD", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "ORIG_HEAD",
		"rebase-merge/orig-head", "rebase-merge/onto", "rebase-merge/autostash", "rebase-apply/orig-head",
		"rebase-apply/onto", "rebase-apply/autostash", "sequencer/head"}
)

// Snapshot saves all that removing the worktree would lose: what is staged, the
// working files with their exact bytes, untracked files, ignored files below
// 1 MB that Prepare did not bring, the state of an unended merge or rebase, and
// through HEAD the commits. Index, files and refs of the tree are untouched.
//
// It returns nil without error when there is nothing to save. What it cannot
// hold is ErrUnsavable and named: a nested repository, an untracked file above
// 50 MB, a submodule with changes.
func (r *Repo) Snapshot(ctx context.Context, treePath string, s SnapshotSpec) (*Snapshot, error) {
	root, err := realPath(treePath)
	if err != nil {
		return nil, err
	}
	private, err := privateDir(ctx, root)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(private, "cmux-snapshot-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	w := &snapshotter{repo: r, root: root, private: private, index: filepath.Join(tmp, "index")}
	owner, err := readOwner(private)
	if err != nil {
		return nil, err
	}
	w.rec = snapshotRecord{Version: 1, Name: s.Name, Reason: s.Reason, Path: root, Owner: owner.Owner, Operation: operation(private)}
	if err := w.survey(ctx); err != nil {
		return nil, err
	}
	if s.leaving {
		if err := w.nested(ctx); err != nil {
			return nil, err
		}
		if w.kept, err = r.only(ctx, private); err != nil {
			return nil, err
		}
		w.rec.Kept = w.kept.all()
	}
	if len(w.put)+len(w.drop)+w.staged+w.specials == 0 && w.rec.Operation == "" && w.kept.none() {
		if w.rec.Branch != "" || w.rec.Head == "" {
			return nil, nil
		}
		if held, err := r.held(ctx, w.rec.Head); held || err != nil {
			return nil, err
		}
	}
	return w.save(ctx)
}

// snapshotCommit saves a commit without a working tree.
func (r *Repo) snapshotCommit(ctx context.Context, commit, branch string, s SnapshotSpec) (*Snapshot, error) {
	out, err := git(ctx, r.Root, "for-each-ref", "--count=1", "--format=x", "--contains", commit, snapshotRefs)
	if out != "" || err != nil {
		return nil, err
	}
	w := &snapshotter{repo: r, root: r.Root, private: r.GitDir}
	w.rec = snapshotRecord{Version: 1, Name: s.Name, Reason: s.Reason, Branch: branch, Head: commit, Bare: true}
	w.indexTree = commit + "^{tree}"
	return w.save(ctx)
}

type snapshotter struct {
	repo          *Repo
	root, private string
	index         string // a private copy of the index
	rec           snapshotRecord

	raw       []byte   // the index file
	staged    int      // paths that differ between HEAD and index
	unmerged  []string // lines of ls-files --unmerged
	put, drop []string // working files to save; tracked ones that are gone
	absent    []string // tracked files that a sparse checkout leaves out
	indexTree string
	specials  int // pipes, sockets and devices
	kept      only
	gitlinks  map[string]bool // paths of submodules in the index
	repos     []string        // folders with a .git of their own
}

func (w *snapshotter) git(ctx context.Context, args ...string) (string, error) {
	return command{dir: w.root, args: args, env: []string{"GIT_INDEX_FILE=" + w.index},
		config: []string{"core.fsync=objects,reference"}}.run(ctx)
}

// CopyIndex copies the index at path from to path to and returns what is in it;
// nil where there is none. The copy is as old as the index: git compares times
// by the second, and looks into a file of the same size only while the index is
// no younger, so that a younger copy would hide an edit right after a commit.
func CopyIndex(from, to string) ([]byte, error) {
	// The time comes first: of an index that is replaced meanwhile, the older
	// time is the one that hides nothing.
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		return nil, err
	}
	return b, os.Chtimes(to, info.ModTime(), info.ModTime())
}

// survey finds out what there is to save.
func (w *snapshotter) survey(ctx context.Context) error {
	var err error
	if w.raw, err = CopyIndex(filepath.Join(w.private, "index"), w.index); err != nil {
		return err
	}
	if w.raw != nil {
		if err := w.plainIndex(ctx); err != nil {
			return err
		}
	}
	out, err := w.git(ctx, "status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none",
		"--untracked-files=all", "--ignored=matching", "--branch", "--no-ahead-behind")
	if err != nil {
		return err
	}
	lines := fields(out)
	if err := w.head(ctx, lines); err != nil {
		return err
	}
	entries, err := parseStatus(lines)
	if err != nil {
		return err
	}
	var ignored []string
	for _, e := range entries {
		if len(e.sub) == 4 && e.sub[0] == 'S' && e.sub != "S..." {
			return hint("commit and push inside it, or put it back with git submodule update",
				"%w: submodule %s has changes of its own", ErrUnsavable, filepath.Join(w.root, e.path))
		}
		switch e.kind {
		case '?':
			if err := w.untracked(e.path); err != nil {
				return err
			}
		case '!':
			ignored = append(ignored, e.path)
		case 'u':
			w.staged++
			w.working(e.path)
		default:
			if e.index != '.' {
				w.staged++
			}
			// A file that agrees with what is staged may still have other
			// bytes: adding it went through the clean filter.
			if e.tree != '.' || e.index != 'D' {
				w.working(e.path)
			}
		}
	}
	if err := w.hidden(ctx); err != nil {
		return err
	}
	if err := w.ignored(ignored); err != nil {
		return err
	}
	return w.special(ctx)
}

// head reads where HEAD is in the headers of status: a process less.
func (w *snapshotter) head(ctx context.Context, lines []string) error {
	for _, l := range lines {
		if id, ok := strings.CutPrefix(l, "# branch.oid "); ok && id != "(initial)" {
			w.rec.Head = id
		}
		if name, ok := strings.CutPrefix(l, "# branch.head "); ok {
			w.rec.Branch = name
		}
	}
	if w.rec.Branch != "(detached)" {
		return nil
	}
	branch, err := git(ctx, w.root, "symbolic-ref", "--quiet", "HEAD") // a branch may be called so
	if err != nil && exitCode(err) != 1 {
		return err
	}
	w.rec.Branch = strings.TrimPrefix(line(branch), "refs/heads/")
	return nil
}

// special lists the pipes, sockets and devices, which git passes over and no
// commit holds, and refuses what cannot be read: git passes over that as well.
func (w *snapshotter) special(ctx context.Context) error {
	given, err := readPrepared(w.private)
	if err != nil {
		return err
	}
	listed := make(map[string]bool, len(w.rec.Omitted))
	for _, name := range w.rec.Omitted {
		listed[strings.TrimSuffix(name, "/")] = true
	}
	return filepath.WalkDir(w.root, func(full string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return hint("chmod -R u+rwX "+shellWord(w.root), "%w: %w", ErrUnsavable, err)
		}
		rel, err := filepath.Rel(w.root, full)
		if err != nil {
			return err
		}
		if d.Name() == ".git" && rel != ".git" && holdsAnything(full, d) {
			w.repos = append(w.repos, filepath.Dir(rel))
		}
		switch {
		case d.IsDir() && (d.Name() == ".git" || rel == ".cmux" || given.within(rel) || listed[rel]):
			return fs.SkipDir
		case d.IsDir() || savable(d.Type()) || listed[rel]:
			return nil
		}
		w.rec.Omitted = append(w.rec.Omitted, rel)
		w.specials++
		return nil
	})
}

// plainIndex takes out of the copy what holds only for the file it was: the
// untracked cache, the fsmonitor's state and the link to a shared index.
func (w *snapshotter) plainIndex(ctx context.Context) error {
	special := slices.ContainsFunc([]string{"UNTR", "FSMN", "link"}, func(ext string) bool {
		return bytes.Contains(w.raw, []byte(ext))
	})
	if !special {
		return nil
	}
	if _, err := w.git(ctx, "update-index", "--no-split-index", "--no-untracked-cache", "--no-fsmonitor", "--force-write-index"); err != nil {
		return err
	}
	var err error
	w.raw, err = os.ReadFile(w.index)
	return err
}

// working saves a tracked path as it is on disk, be it gone.
func (w *snapshotter) working(name string) {
	info, err := os.Lstat(filepath.Join(w.root, name))
	if err != nil || !savable(info.Mode()) {
		w.drop = append(w.drop, name)
		return
	}
	w.put = append(w.put, name)
}

func savable(m fs.FileMode) bool { return m.IsRegular() || m&fs.ModeSymlink != 0 }

func (w *snapshotter) untracked(name string) error {
	full := filepath.Join(w.root, name)
	if strings.HasSuffix(name, "/") {
		return nestedRepository(full)
	}
	info, err := os.Lstat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if info.Size() > maxUntracked {
		return hint("move it out of the worktree, or commit it",
			"%w: untracked file %s has %d MB (up to %d are saved)", ErrUnsavable, full, info.Size()>>20, maxUntracked>>20)
	}
	w.put = append(w.put, name)
	return nil
}

func nestedRepository(dir string) error {
	return hint("move it out of the worktree", "%w: %s is a repository of its own", ErrUnsavable, filepath.Clean(dir))
}

// hidden adds the files whose changes status does not report, because their
// index entry says assume-unchanged or skip-worktree.
func (w *snapshotter) hidden(ctx context.Context) error {
	out, err := w.git(ctx, "ls-files", "-v", "-s", "-z")
	if err != nil {
		return err
	}
	var names []string
	w.gitlinks = map[string]bool{}
	for _, l := range fields(out) { // LETTER MODE ID STAGE\tPATH
		meta, name, _ := strings.Cut(l, "\t")
		if strings.HasPrefix(meta[1:], " "+gitlink) {
			w.gitlinks[name] = true
		}
		if l[0] == 'H' || l[0] == 'M' {
			continue
		}
		info, err := os.Lstat(filepath.Join(w.root, name))
		switch {
		case err == nil && savable(info.Mode()):
			names = append(names, name)
		case l[0] == 'S' || l[0] == 's':
			w.absent = append(w.absent, name)
		default:
			w.drop = append(w.drop, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	// Of these only the changed ones: clear the bits in a further copy and ask again.
	probe := w.index + ".probe"
	if _, err := CopyIndex(w.index, probe); err != nil {
		return err
	}
	at := command{dir: w.root, env: []string{"GIT_INDEX_FILE=" + probe}, stdin: []byte(strings.Join(names, "\x00") + "\x00"),
		args: []string{"update-index", "--no-assume-unchanged", "-z", "--stdin"}}
	if _, err := at.run(ctx); err != nil {
		return err
	}
	at.args = []string{"update-index", "--no-skip-worktree", "-z", "--stdin"}
	if _, err := at.run(ctx); err != nil {
		return err
	}
	out, err = command{dir: w.root, env: at.env, args: []string{"diff-files", "--name-only", "-z", "--ignore-submodules"}}.run(ctx)
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	for _, n := range fields(out) {
		changed[n] = true
	}
	for _, n := range names {
		if changed[n] {
			w.put = append(w.put, n)
		}
	}
	return nil
}

// ignored adds what the removal of ignored files would lose and lists the rest.
func (w *snapshotter) ignored(names []string) error {
	given, err := readPrepared(w.private)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == ".cmux/" { // cmux's own files, at the main worktree's root
			continue
		}
		if given.within(strings.TrimSuffix(name, "/")) {
			w.rec.Omitted = append(w.rec.Omitted, name)
			continue
		}
		top := filepath.Join(w.root, name)
		err := filepath.WalkDir(top, func(full string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%w: %w", ErrUnsavable, err)
			}
			rel, err := filepath.Rel(w.root, full)
			if err != nil {
				return err
			}
			if d.IsDir() {
				if given.within(rel) {
					w.rec.Omitted = append(w.rec.Omitted, rel+"/")
					return fs.SkipDir
				}
				if _, err := os.Lstat(filepath.Join(full, ".git")); err == nil {
					return nestedRepository(full)
				}
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil {
				return err
			}
			if given.file(rel, info) || info.Size() >= maxIgnored || !savable(info.Mode()) {
				w.rec.Omitted = append(w.rec.Omitted, rel)
				return nil
			}
			w.put = append(w.put, rel)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// save writes everything as one commit, which becomes visible at the end.
func (w *snapshotter) save(ctx context.Context) (*Snapshot, error) {
	if w.indexTree == "" {
		if err := w.writeIndexTree(ctx); err != nil {
			return nil, err
		}
	}
	holds, err := w.stateCommits(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range w.kept.tips {
		if k.ID != w.rec.Head && !slices.Contains(holds, k.ID) {
			holds = append(holds, k.ID)
		}
	}
	name := refSafe(w.rec.Name)
	for {
		w.rec.Time = time.Now().UTC().Truncate(time.Millisecond)
		s := w.rec.snapshot(snapshotRefs + name + "/" + w.rec.Time.Format(stampFormat))
		release, err := w.repo.claim(s.Ref) // two in one millisecond
		if err != nil {
			continue
		}
		defer release()
		if _, err := git(ctx, w.repo.Root, "show-ref", "--verify", "--quiet", s.Ref); err == nil {
			continue
		} else if exitCode(err) != 1 {
			return nil, err
		}
		s.Commit, err = w.importCommits(ctx, s.Ref, holds)
		return s, err
	}
}

// refSafe makes a name fit to be part of a ref, and to be pasted into a shell
// as part of the command that restores it: git takes $(...) in a branch's name.
func refSafe(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		part = strings.Map(func(c rune) rune {
			if c <= ' ' || c == 0x7f || strings.ContainsRune("~^:?*[\\@{}$`'\"()<>;&|#!", c) {
				return '-'
			}
			return c
		}, part)
		part = strings.ReplaceAll(part, "..", "--")
		part = strings.Trim(part, ".")
		if strings.HasSuffix(part, ".lock") {
			part += "-"
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return "tree"
	}
	return strings.Join(parts, "/")
}

func (rec snapshotRecord) snapshot(ref string) *Snapshot {
	return &Snapshot{ID: strings.TrimPrefix(ref, snapshotRefs), Ref: ref, Name: rec.Name, Reason: rec.Reason, Time: rec.Time,
		Path: rec.Path, Branch: rec.Branch, Head: rec.Head, Owner: rec.Owner, Operation: rec.Operation, Omitted: rec.Omitted, Bare: rec.Bare, Kept: rec.Kept}
}

// writeIndexTree writes the index as a tree; of unmerged paths our side.
func (w *snapshotter) writeIndexTree(ctx context.Context) error {
	out, err := w.git(ctx, "ls-files", "--unmerged", "-z")
	if err != nil {
		return err
	}
	w.unmerged = fields(out)
	if len(w.unmerged) > 0 {
		var drop, ours strings.Builder
		for _, l := range w.unmerged { // MODE ID STAGE\tPATH
			meta, name, _ := strings.Cut(l, "\t")
			f := strings.Fields(meta)
			fmt.Fprintf(&drop, "0 %s\t%s\x00", strings.Repeat("0", len(f[1])), name)
			if f[2] == "2" {
				fmt.Fprintf(&ours, "%s %s 0\t%s\x00", f[0], f[1], name)
			}
		}
		at := command{dir: w.root, env: []string{"GIT_INDEX_FILE=" + w.index}, args: []string{"update-index", "-z", "--index-info"},
			stdin: []byte(drop.String() + ours.String())}
		if _, err := at.run(ctx); err != nil {
			return err
		}
	}
	out, err = w.git(ctx, "write-tree")
	w.indexTree = line(out)
	return err
}

// stateCommits are the commits that the state of an unended operation names.
func (w *snapshotter) stateCommits(ctx context.Context) ([]string, error) {
	if w.rec.Operation == "" {
		return nil, nil
	}
	var in strings.Builder
	for _, name := range heldFiles {
		b, err := os.ReadFile(filepath.Join(w.private, name))
		if err != nil {
			continue // not part of this operation
		}
		for _, id := range strings.Fields(string(b)) {
			if len(id) >= 40 {
				fmt.Fprintln(&in, id)
			}
		}
	}
	if in.Len() == 0 {
		return nil, nil
	}
	out, err := command{dir: w.root, args: []string{"cat-file", "--batch-check=%(objecttype) %(objectname)"}, stdin: []byte(in.String())}.run(ctx)
	var ids []string
	for l := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(l), "commit "); ok && !slices.Contains(ids, id) && id != w.rec.Head {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// importCommits feeds git fast-import: one process for any number of files,
// whose bytes go in unfiltered.
func (w *snapshotter) importCommits(ctx context.Context, ref string, holds []string) (commit string, err error) {
	// fast-import takes ids or names of commits, not tree expressions.
	out, err := git(ctx, w.root, "rev-parse", "--verify", "--end-of-options", w.indexTree)
	if err != nil {
		return "", err
	}
	w.indexTree = line(out)
	pr, pw := io.Pipe()
	written := make(chan error, 1)
	go func() {
		buf := bufio.NewWriterSize(pw, 64<<10)
		err := errors.Join(w.stream(&stream{w: buf}, ref, holds), buf.Flush())
		pw.CloseWithError(err)
		written <- err
	}()
	out, err = command{dir: w.root, input: pr, config: []string{"core.fsync=objects,reference"},
		args: []string{"fast-import", "--done", "--quiet", "--date-format=raw"}}.run(ctx)
	pr.CloseWithError(io.ErrClosedPipe) // git may have ended before it read everything
	if werr := <-written; werr != nil && !errors.Is(werr, io.ErrClosedPipe) {
		err = werr
	}
	if err != nil {
		crash, _ := filepath.Glob(filepath.Join(escapeGlob(w.private), "fast_import_crash_*"))
		for _, name := range crash {
			os.Remove(name)
		}
		return "", fmt.Errorf("snapshot of %s: %w", w.root, err)
	}
	return line(out), nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// stream writes fast-import commands; the first error sticks in its writer.
type stream struct{ w *bufio.Writer }

func (s *stream) printf(format string, a ...any) { fmt.Fprintf(s.w, format, a...) }
func (s *stream) data(b []byte) {
	s.printf("data %d\n", len(b))
	s.w.Write(b)
	s.printf("\n")
}
func (s *stream) inline(mode, name string, b []byte) {
	s.printf("M %s inline %s\n", mode, quotePath(name))
	s.data(b)
}

func quotePath(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

func (w *snapshotter) stream(s *stream, ref string, holds []string) error {
	begin := func(mark int, message string, parents ...string) {
		// Without a reset the commit would continue the one before it.
		s.printf("reset %s\n\ncommit %s\nmark :%d\ncommitter cmux <cmux@localhost> %d +0000\n", ref, ref, mark, w.rec.Time.Unix())
		s.data([]byte(message))
		verb := "from"
		for _, p := range parents {
			if p != "" {
				s.printf("%s %s\n", verb, p)
				verb = "merge"
			}
		}
		s.printf("deleteall\n")
	}
	begin(1, "index of "+w.rec.Name+"\n", append([]string{w.rec.Head}, holds...)...)
	s.printf("M 040000 %s \"\"\n\n", w.indexTree)

	begin(2, "working tree of "+w.rec.Name+"\n", w.rec.Head)
	s.printf("M 040000 %s \"\"\n", w.indexTree)
	modes, err := w.files(s)
	if err != nil {
		return err
	}
	s.printf("\n")

	begin(3, w.message(), w.rec.Head, ":1", ":2")
	rec, err := json.MarshalIndent(w.rec, "", "  ")
	if err != nil {
		return err
	}
	s.inline("100644", snapRecord, rec)
	if w.raw != nil {
		s.inline("100644", snapIndex, w.raw)
		s.inline("100644", path.Join(snapStages, "0"), nil)
	}
	if len(modes) > 0 {
		s.inline("100644", snapModes, modes)
	}
	for _, l := range w.unmerged {
		meta, name, _ := strings.Cut(l, "\t")
		f := strings.Fields(meta)
		s.printf("M %s %s %s\n", f[0], f[1], quotePath(path.Join(snapStages, f[2], name)))
	}
	if w.rec.Operation != "" || len(w.rec.Kept) > 0 {
		if err := w.state(s); err != nil {
			return err
		}
	}
	for _, k := range w.kept.rest {
		w.keep(s, k)
	}
	s.printf("\nget-mark :3\ndone\n")
	return nil
}

// files writes the working files and returns the modes git cannot say.
func (w *snapshotter) files(s *stream) (modes []byte, err error) {
	gone := slices.Concat(w.drop, w.absent)
	slices.Sort(gone)
	for _, name := range slices.Compact(gone) { // first: a file may have become a directory
		s.printf("D %s\n", quotePath(name))
	}
	slices.Sort(w.put)
	for _, name := range slices.Compact(w.put) {
		full := filepath.Join(w.root, name)
		info, err := os.Lstat(full)
		if err != nil {
			return nil, changing(full, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(full)
			if err != nil {
				return nil, changing(full, err)
			}
			s.inline("120000", name, []byte(target))
			continue
		}
		mode := "100644"
		if info.Mode()&0o100 != 0 {
			mode = "100755"
		}
		if perm := info.Mode().Perm(); perm&0o077 == 0 || perm&0o200 == 0 {
			modes = append(modes, strconv.FormatUint(uint64(perm), 8)+" "+name+"\x00"...)
		}
		// It may have become a pipe or a link since it was looked at.
		f, err := os.OpenFile(full, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrPermission) {
			return nil, hint("chmod u+r "+shellWord(full), "%w: %w", ErrUnsavable, err)
		} else if err != nil {
			return nil, changing(full, err)
		}
		if now, err := f.Stat(); err != nil || !os.SameFile(now, info) || !now.Mode().IsRegular() {
			f.Close()
			return nil, changing(full, errors.Join(err, errors.New("it is another file")))
		}
		s.printf("M %s inline %s\ndata %d\n", mode, quotePath(name), info.Size())
		_, err = io.CopyN(s.w, f, info.Size())
		f.Close()
		if err != nil {
			return nil, changing(full, err)
		}
		s.printf("\n")
	}
	return modes, nil
}

func changing(name string, err error) error {
	return hint("again, once nothing writes into the worktree", "%s changed while it was saved: %w", name, err)
}

// state writes the private files of the unended operation.
func (w *snapshotter) state(s *stream) error {
	for _, name := range stateFiles {
		err := filepath.WalkDir(filepath.Join(w.private, name), func(full string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(w.private, full)
			if err != nil {
				return err
			}
			s.inline("100644", path.Join(snapState, filepath.ToSlash(rel)), b)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *snapshotter) message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cmux snapshot of %s: %s\n\n", w.rec.Name, w.rec.Reason)
	if w.rec.Path != "" {
		fmt.Fprintf(&b, "worktree %q\n", w.rec.Path)
	}
	if w.rec.Branch != "" {
		fmt.Fprintf(&b, "branch %s\n", w.rec.Branch)
	}
	if w.rec.Operation != "" {
		fmt.Fprintf(&b, "%s in progress\n", w.rec.Operation)
	}
	for _, k := range w.rec.Kept {
		fmt.Fprintf(&b, "kept %s, which only %s named\n", k.ID, k.From)
	}
	for _, name := range w.rec.Omitted {
		fmt.Fprintf(&b, "not saved: %q\n", name)
	}
	return b.String()
}

// Snapshots lists all snapshots, oldest first.
func (r *Repo) Snapshots(ctx context.Context) ([]Snapshot, error) {
	out, err := git(ctx, r.Root, "for-each-ref", "--format=%(objectname) %(refname)", snapshotRefs)
	if err != nil {
		return nil, err
	}
	var all []Snapshot
	var in strings.Builder
	for l := range strings.Lines(out) {
		commit, ref, _ := strings.Cut(line(l), " ")
		all = append(all, Snapshot{Ref: ref, Commit: commit, ID: strings.TrimPrefix(ref, snapshotRefs)})
		fmt.Fprintf(&in, "%s:%s\n", commit, snapRecord)
	}
	if len(all) == 0 {
		return nil, nil
	}
	out, err = command{dir: r.Root, args: []string{"cat-file", "--batch"}, stdin: []byte(in.String())}.run(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		header, rest, _ := strings.Cut(out, "\n")
		f := strings.Fields(header)
		if len(f) != 3 || f[1] != "blob" { // "... missing": a ref somebody else made
			out = rest
			continue
		}
		n, err := strconv.Atoi(f[2])
		if err != nil || n >= len(rest) {
			return nil, fmt.Errorf("git cat-file: unexpected answer %q", header)
		}
		var rec snapshotRecord
		if err := json.Unmarshal([]byte(rest[:n]), &rec); err == nil {
			commit := all[i].Commit
			all[i] = *rec.snapshot(all[i].Ref)
			all[i].Commit = commit
		}
		out = rest[n+1:]
	}
	slices.SortStableFunc(all, func(a, b Snapshot) int { return a.Time.Compare(b.Time) })
	return all, nil
}
