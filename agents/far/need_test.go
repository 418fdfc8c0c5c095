package far

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// gpu is a machine that fits everything below.
func gpu(change ...func(*Machine)) Machine {
	m := Machine{
		Name: "gpu-1", Labels: []string{"gpu", "big", "linux/arm64"}, Agents: map[string]string{"claude": "", "codex": "not logged in"},
		Slots: 2, Accepts: true, Cmux: "0.9", Version: Version,
	}
	for _, c := range change {
		c(&m)
	}
	return m
}

func TestLacks(t *testing.T) {
	for _, c := range []struct {
		name string
		need Need
		m    Machine
		want string
	}{
		{"fits", Need{Labels: []string{"gpu", "linux/arm64"}, Kind: "claude"}, gpu(), ""},
		{"any", Need{Labels: []string{Any}, Kind: "claude"}, gpu(), ""},
		{"no labels asked", Need{Kind: "claude"}, gpu(), ""},
		{"a label is missing", Need{Labels: []string{"gpu", "mac"}, Kind: "claude"}, gpu(), "no label mac"},
		{"two are", Need{Labels: []string{"fast", "mac"}, Kind: "claude"}, gpu(), "no label fast, mac"},
		{"no such agent", Need{Kind: "kimi"}, gpu(), "no kimi"},
		{"agent is not ready", Need{Kind: "codex"}, gpu(), "codex is not ready: not logged in"},
		{"auto_accept", Need{Kind: "claude", Accept: true}, gpu(), ""},
		{"no auto_accept", Need{Kind: "claude", Accept: true}, gpu(func(m *Machine) { m.Accepts = false }), "no auto_accept (start it with --auto-accept)"},
		{"pinned to it", Need{Kind: "claude", Machine: "gpu-1"}, gpu(), ""},
		{"pinned elsewhere", Need{Kind: "claude", Machine: "gpu-2"}, gpu(), "has not had it"},
		{"cannot be reached", Need{Kind: "claude"}, gpu(func(m *Machine) { m.Fault = "Permission denied" }), "Permission denied"},
		{"another protocol", Need{Kind: "claude"}, gpu(func(m *Machine) { m.Version = 7 }), "cmux 0.9 speaks version 7 of the protocol, not 1"},
		{"full, which passes", Need{Kind: "claude"}, gpu(func(m *Machine) { m.Busy = 2 }), ""},
	} {
		if got := c.need.Lacks(&c.m); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestHinders(t *testing.T) {
	for want, m := range map[string]Machine{
		"":         gpu(func(m *Machine) { m.Busy = 1 }),
		"full":     gpu(func(m *Machine) { m.Busy = 2 }),
		"draining": gpu(func(m *Machine) { m.Draining, m.Busy = true, 2 }),
		"silent":   gpu(func(m *Machine) { m.Silent, m.Draining = true, true }),
	} {
		if got := m.Hinders(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	named := func(name string, change ...func(*Machine)) Machine {
		return gpu(append(change, func(m *Machine) { m.Name = name })...)
	}
	busy := func(n int) func(*Machine) { return func(m *Machine) { m.Busy = n } }
	for _, c := range []struct {
		name string
		need Need
		all  []Machine
		want int
		why  string
	}{
		{"the first of equals", Need{Kind: "claude"}, []Machine{named("a"), named("b")}, 0, ""},
		{"most free slots", Need{Kind: "claude"}, []Machine{named("a", busy(1)), named("b")}, 1, ""},
		{"what is preferred", Need{Kind: "claude", Prefer: "a"}, []Machine{named("b"), named("a", busy(1)), named("c")}, 1, ""},
		{"what is preferred, first", Need{Kind: "claude", Prefer: "a"}, []Machine{named("a", busy(1)), named("b")}, 0, ""},
		{"what is preferred is full", Need{Kind: "claude", Prefer: "a"}, []Machine{named("a", busy(2)), named("b")}, 1, ""},
		{"pinned", Need{Kind: "claude", Machine: "b"}, []Machine{named("a"), named("b", busy(1))}, 1, ""},
		{"none there", Need{Labels: []string{"gpu"}, Kind: "claude"}, nil, -1, "waits for a machine with gpu for claude"},
		{"none fits", Need{Labels: []string{"gpu", Any}, Kind: "kimi"}, []Machine{named("a", busy(2)), named("b")}, -1,
			"waits for a machine with gpu for kimi (a: no kimi, b: no kimi)"},
		{"all are busy", Need{Kind: "claude"}, []Machine{named("a", busy(2)), named("b", func(m *Machine) { m.Draining = true }), named("c", func(m *Machine) { m.Silent = true })}, -1,
			"waits for a machine for claude (a: full, b: draining, c: silent)"},
	} {
		if got, why := c.need.Choose(c.all); got != c.want || why != c.why {
			t.Errorf("%s: %d %q, want %d %q", c.name, got, why, c.want, c.why)
		}
	}
}

// Choose takes a machine whenever one lacks and hinders nothing, and no other kind; none
// of the others that may be taken is preferred to it.
func TestChooseAsAProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d"}
		name := rapid.SampledFrom(names)
		labels := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"gpu", "mac", "big"}), 0, 3, rapid.ID[string])
		var all []Machine
		for _, n := range names[:rapid.IntRange(0, 4).Draw(t, "machines")] {
			all = append(all, Machine{
				Name: n, Labels: labels.Draw(t, "labels"), Agents: map[string]string{"claude": rapid.SampledFrom([]string{"", "", "no login"}).Draw(t, "agent")},
				Slots: rapid.IntRange(0, 3).Draw(t, "slots"), Busy: rapid.IntRange(0, 3).Draw(t, "busy"), Version: Version,
				Draining: rapid.IntRange(0, 4).Draw(t, "draining") == 0, Silent: rapid.IntRange(0, 4).Draw(t, "silent") == 0,
			})
		}
		need := Need{Labels: labels.Draw(t, "need"), Kind: "claude"}
		if rapid.Bool().Draw(t, "prefers") {
			need.Prefer = name.Draw(t, "prefer")
		}
		if rapid.IntRange(0, 4).Draw(t, "pinned") == 0 {
			need.Machine = name.Draw(t, "pin")
		}
		takes := func(m *Machine) bool { return need.Lacks(m) == "" && m.Hinders() == "" }
		i, why := need.Choose(all)
		if (i < 0) != (why != "") {
			t.Fatalf("%d, %q", i, why)
		}
		for k := range all {
			m := &all[k]
			switch {
			case i < 0 && takes(m):
				t.Fatalf("%s is not chosen: %q", m.Name, why)
			case i < 0 && !strings.Contains(why, m.Name+": "):
				t.Fatalf("%s is not in %q", m.Name, why)
			case i < 0 || !takes(m):
			case m.Name == need.Prefer && i != k:
				t.Fatalf("%s is chosen, not %s", all[i].Name, m.Name)
			case all[i].Name != need.Prefer && m.Slots-m.Busy > all[i].Slots-all[i].Busy:
				t.Fatalf("%s is chosen, and %s has more free slots", all[i].Name, m.Name)
			}
		}
		if i >= 0 && !takes(&all[i]) {
			t.Fatalf("%+v is chosen", all[i])
		}
	})
}

func TestCheckLabel(t *testing.T) {
	for _, good := range []string{"gpu", "a", "h100-80gb", "linux/arm64", "4", Any, strings.Repeat("x", 63)} {
		if err := CheckLabel(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "GPU", "-gpu", "a_b", "a b", "a/b/c", "/x", "x/", "x/-y", "a+b", "a,b", "gpu\n", "ü", "x/ARM", strings.Repeat("x", 64)} {
		if CheckLabel(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
