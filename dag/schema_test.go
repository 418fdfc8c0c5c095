package dag

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
)

const example = "../.cmux-agents.example.yml"

func compileSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// document reads YAML as an editor does.
func document(t testing.TB, src []byte) any {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(src, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemaAccepts(t *testing.T) {
	schema := compileSchema(t)
	for _, path := range append(files(t, "testdata/good/*.yml"), example) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document(t, src)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		g, _, err := Parse(path, src, ParseOptions{ReadFile: readTask})
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document(t, Format(g))); err != nil {
			t.Errorf("%s as written by Format: %v", path, err)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	schema := compileSchema(t)
	for _, name := range []string{
		"agent-not-mapping", "agents-mapping", "defaults-own", "durations", "missing-keys", "no-agents",
		"no-name", "numbers", "root-list", "session", "session-chars", "session-long", "type-lists", "types",
		"unknown-keys", "values",
	} {
		src, err := os.ReadFile(filepath.Join("testdata/fault", name+".yml"))
		if err != nil {
			t.Fatal(err)
		}
		if name == "type-lists" { // a list as a key is nothing that JSON knows
			src = bytes.Replace(src, []byte("[x]: y"), []byte("{}"), 1)
			src = src[:bytes.LastIndexByte(src, '{')]
		}
		if err := schema.Validate(document(t, src)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, line := range []string{
		"names: x", "task: [x]", "timeout: 5", "timeout: 1 h", "timeout: -1h", "retries: -1", "retries: {maximum: 1}",
		"retries: {max: -1}", "when: never", "role: reviewer", "agent: gpt", "on_lost: 1", "scope: {a: b}", "scope: [[a]]",
		"env: {A B: c}", "env: [a]", "budget: {tokens: x}", "verify_attempts: 0", "auto_accept: 1", "on_complete: [merge]",
		"task_file: x", "depends_on: [true]",
	} {
		src := "session: s\nagents:\n  - name: a\n    " + line + "\n"
		if !strings.HasPrefix(line, "task: ") {
			src += "    task: x\n"
		}
		if err := schema.Validate(document(t, []byte(src))); err == nil {
			t.Errorf("%s: accepted by the schema", line)
		}
		if _, _, err := Parse("f.yml", []byte(src), ParseOptions{ReadFile: func(string) ([]byte, error) { return []byte("x"), nil }}); err == nil {
			t.Errorf("%s: accepted by Parse", line)
		}
	}
}

// Every example of the table loads, alone, and conforms to the schema.
func TestKeyExamples(t *testing.T) {
	schema := compileSchema(t)
	check := func(k keys.Key, src string) {
		t.Helper()
		opts := ParseOptions{ReadFile: func(name string) ([]byte, error) {
			if strings.HasSuffix(name, ".yml") {
				return []byte("agents: [{name: included, task: x}]"), nil
			}
			return []byte("x"), nil
		}}
		if _, _, err := Parse("f.yml", []byte(src), opts); err != nil {
			t.Errorf("example of %s: %v", k.Name, err)
		}
		if err := schema.Validate(document(t, []byte(src))); err != nil {
			t.Errorf("example of %s: %v", k.Name, err)
		}
		if k.Doc == "" || !strings.HasPrefix(k.Example, k.Name+": ") {
			t.Errorf("%s: doc %q, example %q", k.Name, k.Doc, k.Example)
		}
	}
	for _, k := range RootKeys() {
		src := "pools: {opus: 2}\n"
		if k.Name == "pools" {
			src = ""
		}
		if k.Name != "session" {
			src += "session: s\n"
		}
		if k.Name != "agents" {
			src += "agents: [{name: a, task: x}]\n"
		}
		check(k, src+k.Example+"\n")
	}
	for _, k := range agentKeys() {
		src := "session: s\npools: {opus: 2}\nagents:\n  - {name: schema, task: x}\n  - " + k.Example + "\n"
		if k.Name != "name" {
			src += "    name: a\n"
		}
		if k.Name != "task" && k.Name != "task_file" {
			src += "    task: x\n"
		}
		if k.Name == "approve" {
			src += "    role: gate\n"
		}
		if k.Name == "command" {
			src += "    agent: acp\n"
		}
		check(k, src)
	}
}

// The example names every key, with every key of a group.
func TestExampleNamesEveryKey(t *testing.T) {
	src, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	_, warnings, err := Parse(filepath.Base(example), src, ParseOptions{})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	var want []string
	for _, all := range [][]keys.Key{RootKeys(), agentKeys()} {
		for _, k := range all {
			want = append(want, k.Name)
			for _, sub := range k.Sub {
				want = append(want, sub.Name)
			}
		}
	}
	for _, name := range want {
		written := regexp.MustCompile(`(?m)^\s*(- )?` + name + `:`)
		if name == "task_file" { // cannot stand beside task
			written = regexp.MustCompile(`(?m)^\s*# task_file:`)
		}
		if !written.Match(src) {
			t.Errorf("%s does not show %s", example, name)
		}
	}
}

func TestReference(t *testing.T) {
	page := Reference(nil)
	for _, all := range [][]keys.Key{RootKeys(), agentKeys()} {
		for _, k := range all {
			if !strings.Contains(page, "### `"+k.Name+"`\n") {
				t.Errorf("the reference does not mention %s", k.Name)
			}
		}
	}
}

func TestSchemaIsDeterministic(t *testing.T) {
	for range 20 {
		if !bytes.Equal(Schema(), Schema()) {
			t.Fatal("two schemas differ")
		}
	}
}
