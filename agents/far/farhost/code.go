package farhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cmux/agents/far"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree/git"
)

// The names of commits on their way to a machine, and from it.
const (
	refStart  = "refs/cmux/far/start"
	refBase   = "refs/cmux/far/base"
	refBranch = "refs/cmux/far/branch"
	refTips   = "refs/cmux/far/tips/"
	snapshots = "refs/cmux/snapshots/"
)

// runGit runs git at the project's root.
func (h *Host) runGit(ctx context.Context, args ...string) (string, error) {
	return git.Run(ctx, h.c.Run.Plan.Root, args...)
}

// remote is the URL that a machine may fetch the project from; empty: none is known.
func (h *Host) remote() string {
	out, err := h.runGit(h.ctx, "config", "--get", "remote.origin.url")
	if err != nil {
		return ""
	}
	url := strings.TrimSpace(out)
	if u, err := neturl.Parse(url); err == nil && u.User != nil { // a login of home's does not travel
		if u.User = neturl.User(u.User.Username()); strings.HasPrefix(u.Scheme, "http") {
			u.User = nil
		}
		url = u.String()
	}
	if filepath.IsAbs(url) || strings.HasPrefix(url, ".") || strings.HasPrefix(url, "file:") {
		return "" // a folder of this machine
	}
	return url
}

// pack returns a bundle of what an attempt starts from, without what the machine has.
func (h *Host) pack(ctx context.Context, s *run.Spec, has []string) ([]byte, error) {
	h.git.Lock() // all attempts use the same names
	defer h.git.Unlock()
	refs := map[string]string{refBase: h.c.Run.Plan.Base, refStart: s.Place.Commit}
	if s.Place.Branch != "" {
		tip, err := h.c.Repo.Tip(ctx, s.Place.Branch)
		if err != nil && !errors.Is(err, git.ErrBadRef) {
			return nil, err
		}
		refs[refBranch] = tip
	}
	for _, d := range s.Branches {
		refs[refTips+d.Name] = d.Tip
	}
	names := make([]string, 0, len(refs))
	for name, commit := range refs {
		if commit != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if _, err := h.runGit(ctx, "update-ref", name, refs[name]); err != nil {
			return nil, err
		}
		defer h.runGit(context.WithoutCancel(ctx), "update-ref", "-d", name)
	}
	args := append([]string{"bundle", "create", "--quiet", "-"}, names...)
	for _, commit := range h.excluded(ctx, refs, has) {
		args = append(args, "^"+commit)
	}
	out, err := h.runGit(ctx, args...)
	return []byte(out), err
}

var hexRE = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

// mostHas bounds how many commits of a machine are looked at.
const mostHas = 32

// excluded returns commits that a machine has and that a bundle of refs can leave out: git
// refuses a bundle with a ref whose commit itself is left out.
func (h *Host) excluded(ctx context.Context, refs map[string]string, has []string) []string {
	var all []string
	for _, commit := range has[:min(mostHas, len(has))] {
		if !hexRE.MatchString(commit) {
			continue
		}
		if _, err := h.runGit(ctx, "cat-file", "-e", commit+"^{commit}"); err == nil {
			all = append(all, commit)
		}
	}
	for _, commit := range refs {
		if commit == "" || !slices.ContainsFunc(all, func(has string) bool { return h.holds(ctx, has, commit) }) {
			continue
		}
		if out, err := h.runGit(ctx, "rev-parse", commit+"^@"); err == nil {
			all = append(all, strings.Fields(out)...)
		}
	}
	return slices.DeleteFunc(all, func(commit string) bool {
		for _, ref := range refs {
			if ref != "" && h.holds(ctx, commit, ref) {
				return true
			}
		}
		return false
	})
}

// holds reports whether commit descends from old, or is it.
func (h *Host) holds(ctx context.Context, commit, old string) bool {
	holds, err := h.c.Repo.Holds(ctx, commit, old)
	return err == nil && holds
}

// unpack adds an attempt's commits and snapshots. Its branch only moves forward.
func (h *Host) unpack(ctx context.Context, f *follower, bundle []byte) error {
	if len(bundle) == 0 {
		return nil
	}
	h.git.Lock()
	defer h.git.Unlock()
	path := filepath.Join(h.c.Run.NodeDir(f.ref.Node), fmt.Sprintf("far-%d.bundle", f.ref.N))
	if err := signals.PutFile(path, bundle, 0o600); err != nil {
		return err
	}
	defer signals.RemoveFile(path)
	in := fmt.Sprintf("refs/cmux/far/in/%s-%d", f.ref.Node, f.ref.N)
	heads, err := h.runGit(ctx, "bundle", "list-heads", path)
	if err != nil {
		return err
	}
	specs := []string{}
	for line := range strings.Lines(heads) {
		switch _, name, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case name == refBranch:
			specs = append(specs, "+"+name+":"+in)
		case strings.HasPrefix(name, snapshots) && !strings.ContainsAny(name, " :+*?[\\^~"): // else it would be another refspec
			specs = append(specs, name+":"+name)
		}
	}
	if len(specs) == 0 {
		return nil
	}
	defer h.runGit(context.WithoutCancel(ctx), "update-ref", "-d", in)
	fetch := append([]string{"-c", "transfer.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", path}, specs...)
	if _, err := h.runGit(ctx, fetch...); err != nil {
		return err
	}
	branch := f.spec.Place.Branch
	tip, err := h.c.Repo.Resolve(ctx, in)
	if errors.Is(err, git.ErrBadRef) || branch == "" {
		return nil
	}
	if err != nil {
		return err
	}
	old, err := h.c.Repo.Tip(ctx, branch)
	if err != nil && !errors.Is(err, git.ErrBadRef) {
		return err
	}
	if old != "" && !h.holds(ctx, tip, old) {
		if h.holds(ctx, old, tip) {
			return nil // it has come before
		}
		// Somebody has committed on it here. Nothing is lost: the end says where it is.
		_, err := h.runGit(ctx, "update-ref", f.left(), tip)
		return err
	}
	return h.c.Repo.UpdateRef(ctx, "refs/heads/"+branch, tip, old)
}

// maxFiles bounds what travels with a job.
const maxFiles = 1 << 20

// travelling returns the files and folders that copy names, as far as they are there.
func travelling(root string, names []string) ([]far.File, error) {
	var all []far.File
	total := 0
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(name)), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if total += int(info.Size()); total > maxFiles {
				return fmt.Errorf("copy: more than 1 MB would travel to another machine, with %s: take it off copy, or have setup make it", name)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			all = append(all, far.File{Path: filepath.ToSlash(rel), Mode: uint32(info.Mode().Perm()), Data: data})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
