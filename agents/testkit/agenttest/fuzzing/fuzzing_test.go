package fuzzing

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every package with a target fuzzes in its tests.
func TestEveryTargetIsFuzzed(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	has, runs := map[string]bool{}, map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		dir := filepath.Dir(path)
		has[dir] = has[dir] || bytes.Contains(b, []byte("\nfunc Fuzz"))
		runs[dir] = runs[dir] || bytes.Contains(b, []byte(" fuzzing.Run(t) }"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	targets := 0
	for dir, fuzzes := range has {
		if fuzzes {
			targets++
		}
		if fuzzes != runs[dir] && dir != filepath.Join(root, "agents/testkit/agenttest/fuzzing") {
			t.Errorf("%s has fuzz targets: %v; its tests run them: %v", dir, fuzzes, runs[dir])
		}
	}
	if targets == 0 {
		t.Error("no package with a target was found")
	}
}
