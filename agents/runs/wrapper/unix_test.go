package wrapper_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/runs/wrapper"
)

func dialUnix(t *testing.T, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func touch(t *testing.T, f *fixture, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.Run.Plan.Root, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// hookAs sends an event as one of the node's hooks would.
func hookAs(t *testing.T, f *fixture, event string) (string, int, error) {
	t.Helper()
	env := map[string]string{"CMUX_SOCKET": f.Run.Socket("a"), "CMUX_NODE": "a", "CMUX_TOKEN": f.Spec.Token}
	return wrapper.Hook(t.Context(), func(k string) string { return env[k] }, event, strings.NewReader(""))
}
