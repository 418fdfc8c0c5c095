package ledger

import (
	"os"
	"testing"

	"cmux/agents/seal/sealtest"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

// lines is a list that takes everything.
type lines struct{ n int }

func (l *lines) Take([]byte) error { l.n++; return nil }
func (l *lines) Skip(Bad, []byte)  {}

// A file that another process replaces between its opening and its reading is opened
// again.
func TestReplacedWhileRead(t *testing.T) {
	b, err := Open(t.TempDir(), Format[*lines]{Name: "x", Place: "x", New: func() *lines { return new(lines) }, Copy: func(l *lines) *lines { c := *l; return &c }}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Change(t.Context(), func(*lines) ([][]byte, error) { return [][]byte{[]byte(`{"a":1}`)}, nil }); err != nil {
		t.Fatal(err)
	}
	left := 3
	b.opened = func() {
		if left--; left < 0 {
			return
		}
		whole, err := os.ReadFile(b.path)
		if err == nil {
			err = os.WriteFile(b.path+".new", whole, 0o600)
		}
		if err == nil {
			err = os.Rename(b.path+".new", b.path)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if l, err := b.List(); err != nil || l.n != 1 || left != -1 {
		t.Errorf("%+v, %v, %d", l, err, left)
	}
}
