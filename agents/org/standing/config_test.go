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
	"cmux/dag/keys"
)

var update = flag.Bool("update", false, "rewrite generated pages")

func TestParseConfig(t *testing.T) {
	c, err := ParseConfig("config.yml", []byte("session: shop\nsupervisor: {agent: codex, model: big, budget: {tokens: 500}}\nworker: {agent: claude}\nbudget: {tokens: 9000}\n"+
		"permissions: bypass\nintegration: release/2\nmax_standing: 3\nworktree_base: /w\noverflow: spawn\nverify: [make test, make lint]\nzones: {forbidden: [deploy/, \"**/*.lock\"], safe: [docs/]}\nhealth: {command: make ok, every: 5s, restart: r, rollback: true}\nwatch: {nudges: 2}\nrooms: {policy: once, tokens: {round: 200k}}\nnotify: {bell: false, desktop: true, webhook: \"https://a.b/c\"}\n"))
	want := Config{Session: "shop", Budget: 9000, Supervisor: ConfigAgent{Agent: "codex", Model: "big", Budget: 500}, Worker: ConfigAgent{Agent: "claude"}, Permissions: PermitAll,
		Integration: "release/2", MaxStanding: 3, WorktreeBase: "/w", Overflow: OverflowSpawn, Notify: dag.Notify{Desktop: true, Webhook: "https://a.b/c"}, Verify: []string{"make test", "make lint"}, Health: Health{Command: "make ok", Every: dag.Duration(5 * time.Second), Restart: "r", Rollback: true}, Zones: run.Zones{Forbidden: []string{"deploy/", "**/*.lock"}, Safe: []string{"docs/"}}, Watch: map[string]string{"nudges": "2"}, Rooms: map[string]string{"policy": "once", "tokens.round": "200k"}}
	if err != nil || !reflect.DeepEqual(*c, want) {
		t.Errorf("%+v, %v; want %+v", c, err, want)
	}
	aliased, err := ParseConfig("config.yml", []byte("x-mine: &m {agent: codex, model: big}\nsupervisor: *m\nworker: {<<: *m, model: small}\nzones: {safe: docs/}\n"))
	if want := (Config{WorktreeBase: "..", Notify: dag.Notify{Bell: true}, Supervisor: ConfigAgent{Agent: "codex", Model: "big"}, Worker: ConfigAgent{Agent: "codex", Model: "small"}, Zones: run.Zones{Safe: []string{"docs/"}}}); err != nil || !reflect.DeepEqual(*aliased, want) {
		t.Errorf("%+v, %v; want %+v", aliased, err, want)
	}
	for _, nothing := range []string{"", "# nothing yet\n", "~\n", "session:\n"} {
		if c, err := ParseConfig("config.yml", []byte(nothing)); err != nil || !reflect.DeepEqual(*c, Config{WorktreeBase: "..", Notify: dag.Notify{Bell: true}}) {
			t.Errorf("%q: %+v, %v", nothing, c, err)
		}
	}
	for src, want := range map[string]string{
		"sesion: shop\n":                             `config.yml:1:1: unknown key "sesion" (did you mean "session"?)`,
		"session: a b\n":                             `config.yml:1:10: session "a b" is not allowed (use letters, digits, _ and -)`,
		"session: a\nsession: b\n":                   `config.yml:2:1: key "session" appears twice (first on line 1)`,
		"supervisor: claude\n":                       `config.yml:1:13: supervisor must hold keys and values, not "claude" (write it as key: value)`,
		"supervisor:\n  modl: x\n":                   `config.yml:2:3: unknown key "modl" in supervisor (did you mean "model"?)`,
		"supervisor: {budget: {tokens: 0}}\n":        `config.yml:1:31: supervisor.budget.tokens must be at least 1, not 0`,
		"permissions: all\n":                         `config.yml:1:14: permissions cannot be "all" (one of ask, auto, bypass)`,
		"max_standing: 0\n":                          `config.yml:1:15: max_standing must be at least 1, not 0`,
		"port: 80\n":                                 `config.yml:1:7: port must be from 1024 to 65535, not 80`,
		"maintenance: [worktrees, files]\n":          `config.yml:1:26: maintenance cannot be "files" (one of `,
		"integration: -x\n":                          `config.yml:1:14: integration "-x" is not allowed (write the name of a branch)`,
		"verify: [a, {b: c}]\n":                      `config.yml:1:13: verify must be text, not keys and values`,
		"session: [\n":                               `config.yml:`,
		"- a\n":                                      `config.yml:1:1: the file must hold keys and values, not a list (write it as key: value)`,
		"notify: {bell: 3}\n":                        `config.yml:1:16: notify.bell must be true or false, not 3`,
		"notify: {webhook: ftp:x}\n":                 `config.yml:1:19: notify.webhook "ftp:x" is not a web address (write https://HOST/PATH)`,
		"notify: {command: \"\"}\n":                  `config.yml:1:19: notify.command is empty (remove the key or give a value)`,
		"notify: {format: slak}\n":                   `config.yml:1:18: notify.format cannot be "slak" (did you mean "slack"?)`,
		"zones: {forbiden: [a]}\n":                   `config.yml:1:9: unknown key "forbiden" in zones (did you mean "forbidden"?)`,
		"zones: {careful: {a: b}}\n":                 `config.yml:1:18: zones.careful must be a list of text, not keys and values`,
		"zones: {safe: [a, ../b]}\n":                 `config.yml:1:19: zones.safe "../b" leaves the project (it may name only what is inside the project)`,
		"health: {every: 1ms}\n":                     `config.yml:1:17: health.every must be at least 1s, not 1ms`,
		"health: {rollback: yes}\n":                  `config.yml:1:20: health.rollback must be true or false, not "yes"`,
		"health: {comand: x}\n":                      `config.yml:1:10: unknown key "comand" in health (did you mean "command"?)`,
		"health: {command: [x]}\n":                   `config.yml:1:19: health.command must be text, not a list`,
		"zones: {safe: [\"a[\"]}\n":                  `config.yml:1:16: zones.safe "a[" is not a valid glob`,
		"session: x\n---\nsession: y\n":              `config.yml:2:1: the file holds more than one document (keep one`,
		"watch:\n  nudges: none\n":                   `config.yml:2:11: watch.nudges must be a whole number, not "none"`,
		"watch: {nudges: 101}\n":                     `config.yml:1:17: watch.nudges must be from 1 to 100, not 101`,
		"watch: {quiet_hours: 8-9}\n":                `config.yml:1:22: watch.quiet_hours "8-9" is not allowed (write hours such as 00:00-08:00)`,
		"watch: {idle_aftr: 1m}\n":                   `config.yml:1:9: unknown key "idle_aftr" in watch (did you mean "idle_after"?)`,
		"watch: {sentry: [x]}\n":                     `config.yml:1:17: watch.sentry must be true or false, not a list`,
		"rooms: {tokens: {round: many}}\n":           `config.yml:1:25: rooms.tokens.round "many" is no number of tokens (write 5000, 200k or 2M)`,
		"worker: {agent: c, agent: d}\n":             `config.yml:1:20: key "agent" appears twice (first on line 1)`,
		"teams: x\n":                                 `config.yml:1:8: teams must be a list, not "x" (write it as - key: value)`,
		"teams: [{name: a}]\n":                       `config.yml:1:9: teams: the team a has 0 members`,
		"teams: [{name: a, members: [{role: B}]}]\n": `config.yml:1:36: teams.members.role "B" is not allowed (use small letters, digits and -)`,
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
	for _, k := range keys.Describes(configFields()) {
		if _, err := ParseConfig("c", []byte(k.Example)); err != nil || !strings.HasPrefix(k.Example, k.Name+":") {
			t.Errorf("the example of %s: %q, %v", k.Name, k.Example, err)
		}
	}
}

// What the schema of a value allows is read, and what it does not is refused.
func TestConfigSchema(t *testing.T) {
	var root struct {
		Properties map[string]struct {
			AnyOf []struct {
				Enum       []string
				Properties map[string]any
			}
		}
	}
	if err := json.Unmarshal(ConfigSchema(), &root); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys.Describes(configFields()) {
		either := root.Properties[k.Name].AnyOf
		if len(either) != 2 {
			t.Errorf("%s is not in the schema", k.Name)
			continue
		}
		s := either[0]
		if k.Type == keys.TypeGroup && len(s.Properties) != len(k.Sub) {
			t.Errorf("%s: %v", k.Name, s.Properties)
		}
		for _, v := range s.Enum {
			if _, err := ParseConfig("c", []byte(k.Name+": "+v)); err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
		}
	}
}
