package watch

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"

	"cmux/agents/org/watchconfig"
	"cmux/dag/keys"
)

var update = flag.Bool("update", false, "rewrite generated pages")

func TestReference(t *testing.T) {
	const page = "../../docs/watch.md"
	if *update {
		if err := os.WriteFile(page, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(page); err != nil || string(b) != Reference() {
		t.Errorf("%s is not what the table of rules says (%v): run this test with -update", page, err)
	}
}

// Every key that the table names is there, and switches what it says.
func TestTable(t *testing.T) {
	is := func(name string, typ keys.Type) bool {
		return slices.ContainsFunc(watchconfig.Fields(), func(k keys.Field[watchconfig.Config]) bool { return k.Name == name && k.Type == typ })
	}
	names := map[string]bool{}
	for _, r := range Rules() {
		if names[r.Name] || r.Evidence == "" || r.Action == "" || r.Bound == "" || r.Most < 1 || r.Per <= 0 || r.Per > keptDone {
			t.Errorf("the rule %q is not whole, or there twice", r.Name)
		}
		names[r.Name] = true
		for _, key := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(r.Threshold, -1) {
			if is(key[1], keys.TypeFlag) || !slices.ContainsFunc(watchconfig.Fields(), func(k keys.Field[watchconfig.Config]) bool { return k.Name == key[1] }) {
				t.Errorf("%s: no threshold %q", r.Name, key[1])
			}
		}
		if (r.Switch == "") != (r.on == nil) {
			t.Errorf("%s: its switch is not there, or not named", r.Name)
			continue
		}
		if r.on == nil {
			continue
		}
		if !is(r.Switch, keys.TypeFlag) {
			t.Errorf("%s: no switch %q", r.Name, r.Switch)
		}
		if c := watchconfig.New(map[string]string{r.Switch: "false"}); *r.on(&c) {
			t.Errorf("%s: %s does not switch it off", r.Name, r.Switch)
		}
	}
}
