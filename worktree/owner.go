package worktree

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

type ownerRecord struct {
	Owner  string `json:"owner"`
	Branch string `json:"branch,omitempty"`
	Start  string `json:"start"`
}

func readOwner(private string) (ownerRecord, error) {
	var rec ownerRecord
	b, err := os.ReadFile(filepath.Join(private, ownerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return rec, nil
	} else if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return ownerRecord{}, nil // torn by a crash: nobody's, so a dirty tree is refused
	}
	return rec, nil
}

// torn tells an owner's file that cmux made and that is none any more.
func torn(private string) bool {
	info, err := os.Lstat(filepath.Join(private, ownerFile))
	if err != nil {
		return false
	}
	b, err := os.ReadFile(filepath.Join(private, ownerFile))
	return !info.Mode().IsRegular() || err == nil && !json.Valid(b)
}

func writeOwner(private, name string, rec ownerRecord) error {
	return writeJSON(filepath.Join(private, name), rec)
}

// writeJSON replaces a file whole.
func writeJSON(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFile(name, append(b, '\n'))
}

func writeFile(name string, b []byte) error {
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
