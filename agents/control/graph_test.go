package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/project"
	"cmux/worktree/hint"
)

// A configuration that is a link to a file of the project is written through it; one
// that leads out of the project is not written.
func TestWriteGraphThroughLinks(t *testing.T) {
	p := &Project{Project: project.Project{Caller: project.Caller{Now: time.Now, Person: true}, Root: t.TempDir()}}
	write := func(text string) error {
		was, err := p.Graphs().GraphText()
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Graphs().WriteGraph(t.Context(), text, was.Sum)
		return err
	}
	if err := write("one"); err != nil { // there was none
		t.Fatal(err)
	}
	file := p.Configurations().Config("")
	real := filepath.Join(p.Root, "conf", "agents.yml")
	err := errors.Join(os.Mkdir(filepath.Dir(real), 0o700), os.Rename(file, real), os.Symlink("conf/agents.yml", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := write("two"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(real); string(b) != "two" {
		t.Errorf("%q %v", b, err)
	}
	if to, err := os.Readlink(file); to != "conf/agents.yml" {
		t.Errorf("%q %v", to, err)
	}
	outside := filepath.Join(t.TempDir(), "shared.yml")
	if err := errors.Join(os.Rename(real, outside), os.Remove(file), os.Symlink(outside, file)); err != nil {
		t.Fatal(err)
	}
	var hint *hint.Error
	if err := write("three"); !errors.As(err, &hint) || !strings.Contains(err.Error(), "outside the project") {
		t.Error(err)
	}
	if b, _ := os.ReadFile(outside); string(b) != "two" {
		t.Errorf("%q", b)
	}
	if err := errors.Join(os.Remove(file), os.WriteFile(file, []byte("a copy"), 0o600)); err != nil { // what it says to try
		t.Fatal(err)
	}
	if err := write("three"); err != nil {
		t.Fatal(err)
	}
}
