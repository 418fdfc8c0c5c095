package worktree

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
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
// 50 MB, a submodule with changes that are not committed in it.
func (r *Repo) Snapshot(ctx context.Context, treePath string, s SnapshotSpec) (*Snapshot, error) {
	root, err := git.RealPath(treePath)
	if err != nil {
		return nil, err
	}
	private, err := git.PrivateDir(ctx, root)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(private, "cmux-snapshot-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	w := &snapshotter{repo: r, root: root, private: private, index: filepath.Join(tmp, "index")}
	owner, err := git.ReadOwner(private)
	if err != nil {
		return nil, err
	}
	w.rec = snapshotRecord{Version: 1, Name: s.Name, Reason: s.Reason, Path: root, Owner: owner.Owner, Operation: git.Operation(private)}
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
	if len(w.put)+len(w.drop)+len(w.pointers)+w.staged+w.specials == 0 && w.rec.Operation == "" && w.kept.none() {
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
	out, err := git.Run(ctx, r.Root, "for-each-ref", "--count=1", "--format=x", "--contains", commit, snapshotRefs)
	if out != "" || err != nil {
		return nil, err
	}
	w := &snapshotter{repo: r, root: r.Root, private: r.GitDir}
	w.rec = snapshotRecord{Version: 1, Name: s.Name, Reason: s.Reason, Branch: branch, Head: commit, Bare: true}
	w.indexTree = commit + "^{tree}"
	return w.save(ctx)
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
	name := git.RefSafe(w.rec.Name)
	for {
		w.rec.Time = time.Now().UTC().Truncate(time.Millisecond)
		s := w.rec.snapshot(snapshotRefs + name + "/" + w.rec.Time.Format(stampFormat))
		release, err := w.repo.claim(s.Ref) // two in one millisecond
		if err != nil {
			continue
		}
		defer release()
		if _, err := git.Run(ctx, w.repo.Root, "show-ref", "--verify", "--quiet", s.Ref); err == nil {
			continue
		} else if git.ExitCode(err) != 1 {
			return nil, err
		}
		s.Commit, err = w.importCommits(ctx, s.Ref, holds)
		return s, err
	}
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
	w.unmerged = git.Fields(out)
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
		at := git.Command{Dir: w.root, Env: []string{"GIT_INDEX_FILE=" + w.index}, Args: []string{"update-index", "-z", "--index-info"},
			Stdin: []byte(drop.String() + ours.String())}
		if _, err := at.Run(ctx); err != nil {
			return err
		}
	}
	out, err = w.git(ctx, "write-tree")
	w.indexTree = git.Line(out)
	return err
}

// stateCommits are the commits that the state of an unended operation names.
func (w *snapshotter) stateCommits(ctx context.Context) ([]string, error) {
	if w.rec.Operation == "" {
		return nil, nil
	}
	var in strings.Builder
	for _, name := range heldFiles {
		b, err := gitfile.Read(filepath.Join(w.private, name), 1<<30)
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
	out, err := git.Command{Dir: w.root, Args: []string{"cat-file", "--batch-check=%(objecttype) %(objectname)"}, Stdin: []byte(in.String())}.Run(ctx)
	var ids []string
	for l := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(l), "commit "); ok && !slices.Contains(ids, id) && id != w.rec.Head {
			ids = append(ids, id)
		}
	}
	return ids, err
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

// Snapshots lists all snapshots, oldest first.
func (r *Repo) Snapshots(ctx context.Context) ([]Snapshot, error) {
	out, err := git.Run(ctx, r.Root, "for-each-ref", "--format=%(objectname) %(refname)", snapshotRefs)
	if err != nil {
		return nil, err
	}
	var all []Snapshot
	var in strings.Builder
	for l := range strings.Lines(out) {
		commit, ref, _ := strings.Cut(git.Line(l), " ")
		all = append(all, Snapshot{Ref: ref, Commit: commit, ID: strings.TrimPrefix(ref, snapshotRefs)})
		fmt.Fprintf(&in, "%s:%s\n", commit, snapRecord)
	}
	if len(all) == 0 {
		return nil, nil
	}
	out, err = git.Command{Dir: r.Root, Args: []string{"cat-file", "--batch"}, Stdin: []byte(in.String())}.Run(ctx)
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
