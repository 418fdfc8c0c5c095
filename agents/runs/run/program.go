package run

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cmux/agents/platform/seal"
	"cmux/signals"
)

// A run is carried out by a copy of the cmux that started it: hooks and
// wrappers are called by its path, so that an upgrade in the middle of a run
// changes nothing. The runs of a project share one copy of each version,
// .cmux/bin/VERSION/cmux, VERSION being the beginning of its sum. Beside it
// .cmux/bin/VERSION.json says which file it was copied from, sealed with the
// person's key: the next start of that file copies and reads nothing.

const program = "cmux"

// Program says which file the copy of cmux is that a run is carried out by.
type Program struct {
	Sum      string           `json:"sum"` // sha256
	Identity signals.Identity `json:"id"`
	Changed  int64            `json:"ctime"`            // nanoseconds; not even its owner can set it
	Shared   bool             `json:"shared,omitempty"` // with other runs; else it is in the run's own folder
}

func programsDir(root string) string { return filepath.Join(Folder(root), binDir) }

// versionLength is how much of a sum names a version.
const versionLength = 16

func version(sum string) string { return sum[:min(versionLength, len(sum))] }

// folder is where the copy stands of a run of the project at root; empty: in the
// run's own folder.
func (p *Program) folder(root string) string {
	if !p.Shared {
		return ""
	}
	return filepath.Join(programsDir(root), version(p.Sum))
}

func noteOf(folder string) string { return folder + ".json" }

// programNote is what is known of a copy.
type programNote struct {
	From   Program `json:"from"` // the file that it is a copy of, as it stood then
	Device uint64  `json:"device"`
	Copy   Program `json:"copy"`
}

func programPlace(version string) string { return "program/" + version }

// programKey seals the notes on the copies in the project at root.
func programKey(own *seal.Key, root string) *seal.Key { return own.Derive("program", root) }

// fileOf is the file as it stands, without its sum.
func fileOf(path string, info fs.FileInfo) (p Program, device uint64, err error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return p, 0, fmt.Errorf("%s is not a regular file", path)
	}
	p.Identity = signals.Identity{Inode: st.Ino, Size: info.Size(), MTime: info.ModTime().UnixNano()}
	p.Changed = changed(st)
	return p, uint64(st.Dev), nil
}

// same reports whether p is the file that q was, by what nobody can put back.
func (p Program) same(q Program) bool { return p.Identity == q.Identity && p.Changed == q.Changed }

// look is the run's copy as it stands, without its sum.
func (r *Run) look() (Program, error) {
	info, err := os.Lstat(r.Binary())
	if err != nil {
		return Program{}, err
	}
	p, _, err := fileOf(r.Binary(), info)
	return p, err
}

// keepProgram sees to it that there is a copy of the cmux at from, and says in
// the plan which file that is.
func (r *Run) keepProgram(own *seal.Key, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	source, device, err := fileOf(from, info)
	if err != nil {
		return err
	}
	key := programKey(own, r.Plan.Root)
	if kept, ok := r.keptProgram(key, source, device); ok {
		r.Plan.Program, r.Bin = kept, kept.folder(r.Plan.Root)
		return nil
	}
	known := knownSum(own, source, device)
	if err := r.copyProgram(func(out *os.File) (string, error) { return copyKnown(out, in, source, known) }); err != nil {
		return err
	}
	if source.Sum = r.Plan.Program.Sum; source.Sum != known {
		noteSum(own, source, device)
	}
	source.Sum = ""
	note, err := json.Marshal(programNote{From: source, Device: device, Copy: r.Plan.Program})
	if err == nil {
		note, err = key.Seal(programPlace(filepath.Base(r.Bin)), note)
	}
	if err != nil {
		return err
	}
	return signals.WriteFile(noteOf(r.Bin), append(note, '\n'), 0o600)
}

// keptProgram finds the copy of a file that was copied before, where neither has
// changed since.
func (r *Run) keptProgram(key *seal.Key, source Program, device uint64) (Program, bool) {
	entries, _ := signals.ReadDir(programsDir(r.Plan.Root)) // cmux makes again what it cannot read
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), ".json")
		if !is {
			continue
		}
		path := filepath.Join(programsDir(r.Plan.Root), e.Name())
		b, err := signals.ReadFile(path, signals.MaxFile)
		if err != nil || key.Open(programPlace(name), b) != nil {
			continue // nothing is believed that this person's cmux did not write
		}
		var n programNote
		if json.Unmarshal(b, &n) != nil || !n.From.same(source) || n.Device != device {
			continue
		}
		copied := &Run{Paths: Paths{Dir: r.Dir, Bin: n.Copy.folder(r.Plan.Root)}}
		if now, err := copied.look(); err == nil && now.same(n.Copy) {
			now := time.Now()
			os.Chtimes(path, now, now) // spared by PrunePrograms until the plan names it
			return n.Copy, true
		}
	}
	return Program{}, false
}

// copyProgram copies a cmux, beside the copy that is there already of the same
// version and in its place where that is another file than it should be.
func (r *Run) copyProgram(write func(*os.File) (sum string, err error)) error {
	made := filepath.Join(programsDir(r.Plan.Root), "."+NewID(time.Now()))
	defer os.RemoveAll(made) // it is not there any more where all went well
	sum, err := copyBinary(filepath.Join(made, program), write)
	if err != nil {
		return err
	}
	p := Program{Sum: sum, Shared: true}
	r.Bin = p.folder(r.Plan.Root)
	if now, err := sumFile(r.Binary()); err != nil || now != sum {
		if _, err := os.Lstat(r.Bin); err == nil {
			if err := r.setAside(r.Bin); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		err := signals.Rename(made, filepath.Base(r.Bin))
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) { // another start was faster
			err = nil
		}
		if err != nil {
			return err
		}
	}
	r.Plan.Program, err = r.look()
	r.Plan.Program.Sum, r.Plan.Program.Shared = sum, true
	return err
}

// hiddenCopy begins the name of a copy that is being made.
const hiddenCopy = ".cmux."

// copyBinary copies rather than links: an installer that writes into the old
// file in place must not change a run that is under way. It returns the sha256
// of what write copied.
func copyBinary(to string, write func(*os.File) (sum string, err error)) (sum string, err error) {
	if err := signals.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	// A process that is forked meanwhile would hold the copy open for writing,
	// and the system runs no file that anybody writes.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	tmp := filepath.Join(filepath.Dir(to), hiddenCopy+rand.Text())
	out, err := signals.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return "", err
	}
	sum, err = write(out)
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, signals.RemoveFile(tmp))
	}
	return sum, signals.Rename(tmp, filepath.Base(to))
}

// ProveBin makes sure, before something is started, that the folder of the
// run's copy of cmux holds that as it was made and nothing else: it comes first
// in the PATH of every node. What else lies there is moved into the run's folder
// refused and returned; a copy that was changed is made again from the calling
// program, which must be the one that was copied.
func (r *Run) ProveBin() (strangers []string, err error) {
	dir := filepath.Dir(r.Binary())
	entries, err := signals.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if name := e.Name(); name == program || strings.HasPrefix(name, hiddenCopy) {
			continue
		}
		strangers = append(strangers, filepath.Join(dir, e.Name()))
		// Another run's runner may have been faster.
		if err := r.setAside(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return strangers, err
		}
	}
	now, err := r.look()
	if err == nil {
		was := &r.Plan.Program
		if now.same(*was) {
			return strangers, nil
		}
		// Restored from a backup, or by another run, it is another file with the
		// same content.
		sum, err := sumFile(r.Binary())
		if err == nil && sum == was.Sum {
			was.Identity, was.Changed = now.Identity, now.Changed
			return strangers, nil
		}
	}
	return append(strangers, r.Binary()), r.restoreProgram()
}

// restoreProgram makes the run's copy of cmux again, from the calling program.
func (r *Run) restoreProgram() error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		path, perr := os.Executable()
		if perr != nil {
			return perr
		}
		if self, err = os.Open(path); err != nil {
			return err
		}
	}
	defer self.Close()
	h := sha256.New()
	if _, err := io.Copy(h, self); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != r.Plan.Program.Sum {
		return fmt.Errorf("%s is not the copy of cmux that this run was started with, and nothing is started with it: "+
			"cmux agents stop, then cmux agents start --new", r.Binary())
	}
	if _, err := self.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := os.RemoveAll(r.Binary()); err != nil {
		return err
	}
	if _, err := copyBinary(r.Binary(), func(out *os.File) (string, error) { return copySum(out, self) }); err != nil {
		return err
	}
	now, err := r.look()
	r.Plan.Program.Identity, r.Plan.Program.Changed = now.Identity, now.Changed
	return err
}

// setAside moves a file of the run that is not believed out of the way.
func (r *Run) setAside(path string) error {
	to := filepath.Join(r.Dir, refusedDir)
	if err := signals.MkdirAll(to, 0o700); err != nil {
		return err
	}
	// Out of reach of every PATH, and never over another.
	return os.Rename(path, filepath.Join(to, filepath.Base(path)+"."+NewID(time.Now())))
}

func sumFile(path string) (string, error) {
	f, err := signals.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// youngProgram is how long a copy is kept that no run names: the run that it is
// made for is still being made.
const youngProgram = 10 * time.Minute

// PrunePrograms removes the copies of cmux that no run of the project at root
// is carried out by any more. Where that is not certain of a run, nothing is
// removed.
func PrunePrograms(root string, now time.Time) error {
	entries, err := signals.ReadDir(programsDir(root))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) <= 2 { // one version and its note
		return nil
	}
	if err != nil {
		return err
	}
	used, err := usedPrograms(root)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".json")
		info, err := e.Info()
		if err != nil || used[name] || now.Sub(info.ModTime()) < youngProgram {
			continue
		}
		// A folder is as young as its note, which a start makes younger.
		if note, err := os.Lstat(noteOf(filepath.Join(programsDir(root), name))); err == nil && now.Sub(note.ModTime()) < youngProgram {
			continue
		}
		errs = append(errs, os.RemoveAll(filepath.Join(programsDir(root), e.Name())))
	}
	return errors.Join(errs...)
}

// usedPrograms are the versions that runs and the organization name, believed or
// not.
func usedPrograms(root string) (map[string]bool, error) {
	ids, err := List(root)
	if err != nil {
		return nil, err
	}
	used := make(map[string]bool)
	dirs := []string{OrganizationDir(root)}
	for _, id := range ids {
		dirs = append(dirs, Dir(root, id))
	}
	for i, dir := range dirs {
		b, err := signals.ReadFile(filepath.Join(dir, planFile), signals.MaxFile)
		if i == 0 && errors.Is(err, fs.ErrNotExist) {
			continue // the project has none
		}
		if err != nil {
			return nil, err
		}
		var p Plan
		if err := json.Unmarshal(b, &p); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, planFile), err)
		}
		used[version(p.Program.Sum)] = true
	}
	return used, nil
}
