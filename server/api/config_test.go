package api_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/control"
	"cmux/agents/control/configfile"
)

// The organization's configuration is checked as start and apply check it, and written only
// over the text that the person has read. What is written counts once it is applied.
func TestConfigFile(t *testing.T) {
	w := newWorld(t)
	w.repository(t)
	const path = "/api/config/file"
	write := func(text, sum string) string { return body(t, map[string]string{"text": text, "sum": sum}) }
	var file configfile.ConfigText
	if w.must("GET", path, "", &file); file.There || !strings.HasPrefix(file.Text, "# ") {
		t.Fatalf("%+v", file)
	}
	for text, want := range map[string][]configfile.ConfigFault{
		"":                                  {},
		"# nothing yet\n":                   {},
		"verify: [make]\nport: 8500\n":      {},
		"session: shop\n\nverifi: [make]\n": {{Line: 3, Column: 1, Message: `unknown key "verifi"`, Hint: `did you mean "verify"?`}},
		"port: 1\nsupervisor:\n  agent: 7 x\n": {
			{Line: 1, Column: 7, Message: "port must be from 1024 to 65535, not 1"},
			{Line: 3, Column: 10, Message: `supervisor.agent "7 x" is not allowed`, Hint: "write the name of a kind, such as claude"}},
	} {
		for i := range want {
			want[i].File = file.File
		}
		var c control.ConfigCheck
		if w.must("POST", "/api/config/check", body(t, map[string]string{"text": text}), &c); !slices.Equal(c.Faults, want) {
			t.Errorf("%q: %+v; want %+v", text, c.Faults, want)
		}
	}

	// Without a .cmux folder and without an organization, a file is made.
	const first = "verify: [make]\n"
	if w.must("PUT", path, write(first, file.Sum), &file); !file.There || file.Text != first {
		t.Errorf("%+v", file)
	}
	kept := func(want string) {
		t.Helper()
		if b, err := os.ReadFile(filepath.Join(w.root, ".cmux/config.yml")); err != nil || string(b) != want {
			t.Errorf("%q, %v; want %q", b, err, want)
		}
	}
	refused := func(status int, said, request string, headers ...string) {
		t.Helper()
		if code, text := w.ask("PUT", path, request, headers...); code != status || !strings.Contains(text, said) {
			t.Errorf("%s: %d %s; want %d with %q", request, code, text, status, said)
		}
	}
	refused(400, "nothing was written: .cmux/config.yml:2:1: unknown key", write("verify: [make]\nverifi: x\n", file.Sum))
	kept(first)

	// An agent has neither the token nor a session.
	for _, header := range []string{"Authorization: ", "Authorization: Bearer " + strings.Repeat("ac", 32)} {
		refused(401, "", write("permissions: bypass\n", file.Sum), header)
	}
	kept(first)

	// Somebody writes the file meanwhile.
	const theirs = "verify: [make, make lint]\n"
	w.write(".cmux/config.yml", theirs)
	refused(409, "nothing was written", write("verify: []\n", file.Sum))
	kept(theirs)

	// What is written is not active before it is applied.
	w.organized(t)
	var c control.OrgConfig
	w.must("POST", "/api/config/apply", body(t, map[string]any{"changes": w.changes()}), &c)
	w.must("GET", path, "", &file)
	w.must("PUT", path, write("verify: [\"true\"]\n", file.Sum), &file)
	w.must("GET", "/api/config", "", &c)
	if want := []control.ConfigChange{{Key: "verify", InForce: `["make","make lint"]`, File: `["true"]`}}; !slices.Equal(c.Changes, want) {
		t.Errorf("%+v", c.Changes)
	}
	if w.must("POST", "/api/config/apply", body(t, map[string]any{"changes": c.Changes}), &c); len(c.Changes) > 0 {
		t.Errorf("%+v", c.Changes)
	}

	// No link in .cmux is followed.
	outside := filepath.Join(t.TempDir(), "config.yml")
	name := filepath.Join(w.root, ".cmux/config.yml")
	if err := errors.Join(os.Rename(name, outside), os.Symlink(outside, name)); err != nil {
		t.Fatal(err)
	}
	refused(500, "symbolic link", write("verify: []\n", file.Sum))
	if b, err := os.ReadFile(outside); err != nil || string(b) != "verify: [\"true\"]\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// changes are what applying the file would change.
func (w *world) changes() []control.ConfigChange {
	w.t.Helper()
	var c control.OrgConfig
	w.must("GET", "/api/config", "", &c)
	return c.Changes
}
