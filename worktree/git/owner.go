package git

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"cmux/worktree/gitfile"
)

// OwnerRecord says which node has a worktree, as the private folder holds it.
type OwnerRecord struct {
	Owner  string `json:"owner"`
	Branch string `json:"branch,omitempty"`
	Start  string `json:"start"`
}

// maxRecord is more than an owner record holds.
const maxRecord = 1 << 20

// ReadOwner reads the record from a worktree's private folder. A missing or torn record
// is the zero value.
func ReadOwner(private string) (OwnerRecord, error) {
	var rec OwnerRecord
	b, err := gitfile.Read(filepath.Join(private, OwnerFile), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	} else if err != nil && !errors.Is(err, gitfile.ErrNone) {
		return rec, err
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return OwnerRecord{}, nil // torn by a crash: nobody's, so a dirty tree is refused
	}
	return rec, nil
}

// Torn tells an owner's file that cmux made and that is no longer valid.
func Torn(private string) bool {
	info, err := os.Lstat(filepath.Join(private, OwnerFile))
	if err != nil {
		return false
	}
	b, err := gitfile.Read(filepath.Join(private, OwnerFile), maxRecord)
	return !info.Mode().IsRegular() || err == nil && !json.Valid(b)
}

// WriteOwner replaces the record in the file name of a private folder.
func WriteOwner(private, name string, rec OwnerRecord) error {
	return WriteJSON(filepath.Join(private, name), rec)
}

// WriteJSON replaces a file whole.
func WriteJSON(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return WriteFile(name, append(b, '\n'))
}

// WriteFile replaces a file whole, durably.
func WriteFile(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".tmp*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
