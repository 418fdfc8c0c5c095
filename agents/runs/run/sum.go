package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"cmux/agents/platform/seal"
	"cmux/signals"
)

// sumFileName is the note in the person's state folder of the sum of the cmux
// that was copied last: its first run in another project copies without reading
// all of it once more.
const (
	sumFileName = "program.json"
	sumPlace    = "program"
)

// sumNote says what the sum of a file is, as it stood then.
type sumNote struct {
	File   Program `json:"file"`
	Device uint64  `json:"device"`
}

// knownSum is the sum of a file that this person's cmux has worked out, and that
// has not changed since; empty: it is not known.
func knownSum(own *seal.Key, file Program, device uint64) string {
	dir, err := seal.Folder()
	if err != nil {
		return ""
	}
	b, err := signals.ReadFile(filepath.Join(dir, sumFileName), signals.MaxFile)
	var n sumNote
	if err != nil || own.Derive(sumPlace).Open(sumPlace, b) != nil || json.Unmarshal(b, &n) != nil || !n.File.same(file) || n.Device != device {
		return ""
	}
	return n.File.Sum
}

// noteSum keeps the sum of a file. Where that fails it is worked out again.
func noteSum(own *seal.Key, file Program, device uint64) {
	dir, err := seal.Folder()
	if err != nil {
		return
	}
	b, err := json.Marshal(sumNote{file, device})
	if err == nil {
		b, err = own.Derive(sumPlace).Seal(sumPlace, b)
	}
	if err == nil {
		_ = signals.PutFile(filepath.Join(dir, sumFileName), append(b, '\n'), 0o600)
	}
}

// copyKnown copies a file whose sum may be known, which holds if the file is
// still the same behind the copying. The system copies on its own then.
func copyKnown(out, in *os.File, file Program, sum string) (string, error) {
	if sum == "" {
		return copySum(out, in)
	}
	_, err := io.Copy(out, in)
	if err != nil {
		return "", err
	}
	if info, err := in.Stat(); err == nil {
		if now, _, err := fileOf(in.Name(), info); err == nil && now.same(file) {
			return sum, nil
		}
	}
	_, err = in.Seek(0, io.SeekStart)
	if _, e := out.Seek(0, io.SeekStart); e != nil {
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, out.Truncate(0)); err != nil {
		return "", err
	}
	return copySum(out, in)
}

// copySum copies and returns the sha256 of what it wrote, which is worked out
// beside the copying: each start waits for both.
func copySum(out io.Writer, in io.Reader) (string, error) {
	const piece = 1 << 20
	r, w := io.Pipe()
	h := sha256.New()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Only their Read and Write: else each would choose a buffer of its own.
		_, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{r}, make([]byte, piece))
		r.CloseWithError(err)
	}()
	_, err := io.CopyBuffer(io.MultiWriter(out, w), struct{ io.Reader }{in}, make([]byte, piece))
	w.CloseWithError(err) // nil: the end
	<-done
	return hex.EncodeToString(h.Sum(nil)), err
}
