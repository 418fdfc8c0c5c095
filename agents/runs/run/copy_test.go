package run

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestCopySum(t *testing.T) {
	for _, size := range []int{0, 1, 1<<20 - 1, 1 << 20, 3<<20 + 7} {
		content := bytes.Repeat([]byte("cmux 0123456789\n"), size/16+1)[:size]
		var out bytes.Buffer
		sum, err := copySum(&out, bytes.NewReader(content))
		if err != nil || sum != Sum(content) || !bytes.Equal(out.Bytes(), content) {
			t.Errorf("%d bytes: %d copied, %s, want %s, %v", size, out.Len(), sum, Sum(content), err)
		}
	}
	broken := errors.New("broken")
	if _, err := copySum(io.Discard, io.MultiReader(bytes.NewReader(make([]byte, 100)), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("a source that breaks: %v", err)
	}
	if _, err := copySum(failing{broken}, bytes.NewReader(make([]byte, 100))); !errors.Is(err, broken) {
		t.Errorf("a disk that breaks: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
