package standing

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
)

var update = flag.Bool("update", false, "rewrite generated pages")

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig("config.yml", []byte("session: shop\nsupervisor: {agent: codex, model: big, budget: {tokens: 500}}\nworker: {agent: claude}\nbudget: {tokens: 9000}\n"+
		"permissions: bypass\nintegration: release/2\nmax_standing: 3\nworktree_base: /w\noverflow: spawn\nverify: [make test, make lint]\nzones: {forbidden: [deploy/, \"**/*.lock\"], safe: [docs/]}\nhealth: {command: make ok, every: 5s, restart: r, rollback: true}\nwatch: {nudges: 2}\nnotify: {bell: false, desktop: true, webhook: \"https://a.b/c\"}\n"))
	want := Config{Session: "shop", Budget: 9000, Supervisor: ConfigAgent{Agent: "codex", Model: "big", Budget: 500}, Worker: ConfigAgent{Agent: "claude"}, Permissions: PermitAll,
		Integration: "release/2", MaxStanding: 3, WorktreeBase: "/w", Overflow: OverflowSpawn, Notify: dag.Notify{Desktop: true, Webhook: "https://a.b/c"}, Verify: []string{"make test", "make lint"}, Health: Health{Command: "make ok", Every: dag.Duration(5 * time.Second), Restart: "r", Rollback: true}, Zones: run.Zones{Forbidden: []string{"deploy/", "**/*.lock"}, Safe: []string{"docs/"}}, Watch: map[string]string{"nudges": "2"}}
	if err != nil || !reflect.DeepEqual(*c, want) {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
	for _, nothing := range []string{"", "# nothing yet\n", "~\n", "session:\n"} {
		if c, err := ParseConfig("config.yml", []byte(nothing)); err != nil || !reflect.DeepEqual(*c, Config{WorktreeBase: "..", Notify: dag.Notify{Bell: true}}) {
			t.Errorf("%q: %+v, %v", nothing, c, err)
		}
	}
	for src, want := range map[string]string{
		"sesion: shop\n":                 `config.yml:1:1: unknown key "sesion" (did you mean "session"?)`,
		"session: a b\n":                 `config.yml:1:10: session: "a b" is none (use letters, digits, _ and -)`,
		"session: a\nsession: b\n":       `config.yml:2:1: key "session" appears twice (first on line 1)`,
		"supervisor: claude\n":           `config.yml:1:13: supervisor must hold keys and values (write it as key: value)`,
		"supervisor:\n  modl: x\n":       `config.yml:2:3: unknown key "modl" (did you mean "model"?)`,
		"permissions: all\n":             `config.yml:1:14: permissions: "all" is none (write ask or auto or bypass)`,
		"max_standing: 0\n":              `config.yml:1:15: max_standing must be a whole number of 1 or more, not 0`,
		"integration: -x\n":              `config.yml:1:14: integration: "-x" is none (write the name of a branch)`,
		"verify: [a, {b: c}]\n":          `config.yml:1:13: verify must be text`,
		"session: [\n":                   `config.yml:`,
		"- a\n":                          `config.yml:1:1: the file must hold keys and values (write it as key: value)`,
		"notify: {bell: 3}\n":            `config.yml:1:16: notify.bell: "3" is neither (write true or false)`,
		"notify: {webhook: ftp:x}\n":     `config.yml:1:19: notify.webhook is no address (write it as https://HOST/PATH)`,
		"zones: {forbiden: [a]}\n":       `config.yml:1:9: unknown key "forbiden" (did you mean "forbidden"?)`,
		"zones: {careful: a}\n":          `config.yml:1:18: zones.careful must be a list of files, folders and globs (write it as [a/, "b/*.go"])`,
		"zones: {safe: [a, ../b]}\n":     `config.yml:1:19: zones.safe: "../b" lies outside the project (write it from the project's root)`,
		"health: {every: 1ms}\n":         `config.yml:1:17: health.every must be a time of 1s or more, not 1ms`,
		"health: {rollback: yes}\n":      `config.yml:1:20: health.rollback: "yes" is neither (write true or false)`,
		"health: {comand: x}\n":          `config.yml:1:10: unknown key "comand" (did you mean "command"?)`,
		"health: {command: [x]}\n":       `config.yml:1:19: health.command must be text`,
		"zones: {safe: [\"a[\"]}\n":      `config.yml:1:16: zones.safe: "a[" is no pattern`,
		"session: x\n---\nsession: y\n":  `config.yml:2:1: the file holds more than one document (keep one)`,
		"watch:\n  nudges: none\n":       `config.yml:2:11: watch.nudges: "none" is no whole number from 1 to 100`,
		"watch: {idle_aftr: 1m}\n":       `config.yml:1:9: unknown key "idle_aftr" (did you mean "idle_after"?)`,
		"watch: {sentry: [x]}\n":         `config.yml:1:17: watch.sentry must be one value`,
		"worker: {agent: c, agent: d}\n": `config.yml:1:20: key "agent" appears twice (first on line 1)`,
	} {
		if _, err := ParseConfig("config.yml", []byte(src)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v; want %s", src, err, want)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("session: shop\nsupervisor: {agent: codex}\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if c, err := ParseConfig("c", src); (c == nil) == (err == nil) {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// The page and the examples on it are true.
func TestConfigReference(t *testing.T) {
	const page = "../../../docs/organization-config.md"
	if *update {
		if err := os.WriteFile(page, []byte(ConfigReference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(page)
	if err != nil || string(b) != ConfigReference() {
		t.Errorf("%s is not what the table of keys says (%v): run this test with -update", page, err)
	}
	for _, k := range new(Config).keys() {
		if _, err := ParseConfig("c", []byte(k.example)); err != nil || !strings.HasPrefix(k.example, k.name+":") {
			t.Errorf("the example of %s: %q, %v", k.name, k.example, err)
		}
	}
}

// What the schema of a value allows is read, and what it does not is refused.
func TestConfigSchema(t *testing.T) {
	var root struct {
		Properties map[string]struct {
			Pattern    string
			Enum       []string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(ConfigSchema(), &root); err != nil {
		t.Fatal(err)
	}
	for _, k := range new(Config).keys() {
		s, ok := root.Properties[k.name]
		if !ok {
			t.Errorf("%s is not in the schema", k.name)
		}
		if (s.Properties != nil) != (k.sub != nil) || len(s.Properties) != len(k.sub) {
			t.Errorf("%s: %v", k.name, s.Properties)
		}
		for _, v := range s.Enum {
			if _, err := ParseConfig("c", []byte(k.name+": "+v)); err != nil {
				t.Errorf("%s: %v", k.name, err)
			}
		}
	}
}
