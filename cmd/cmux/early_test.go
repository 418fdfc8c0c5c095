package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// clipboardInit is what Go says of the clipboard's init function.
var clipboardInit = regexp.MustCompile(`init github\.com/atotto/clipboard @.* (\d+) allocs`)

// TestHooksLookForNoClipboard: what the start of a hook costs does not grow
// with PATH.
func TestHooksLookForNoClipboard(t *testing.T) {
	t.Parallel()
	cmux := filepath.Join(t.TempDir(), "cmux")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, cmux); err != nil {
		t.Fatal(err)
	}
	var long []string
	for i := range 500 {
		long = append(long, fmt.Sprintf("/nowhere/%d", i))
	}
	allocs := func(args ...string) int {
		t.Helper()
		cmd := exec.Command(cmux, args...)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "CMUX_SOCKET=", "PATH="+strings.Join(long, string(os.PathListSeparator)))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		m := clipboardInit.FindSubmatch(out)
		if m == nil {
			return 0 // where the clipboard needs no program, its init does nothing
		}
		var n int
		fmt.Sscan(string(m[1]), &n)
		return n
	}
	if n := allocs("hook", "Stop"); n > 100 {
		t.Errorf("the clipboard was looked for: %d allocations", n)
	}
	if n := allocs("version"); runtime.GOOS == "linux" && n < 1000 {
		t.Errorf("nothing looks for the clipboard any more (%d allocations): package early has had its day", n)
	}
}
