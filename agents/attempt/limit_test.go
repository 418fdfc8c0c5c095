package attempt

import (
	"testing"
	"time"

	"cmux/agents/run"
	"cmux/dag"
)

func TestAccount(t *testing.T) {
	k := Kind{Name: "k", Home: HomeIn("K_HOME", ".k")}
	env := []string{"HOME=/h", "K_HOME=", "OTHER=x"}
	for _, c := range []struct {
		name string
		kind Kind
		node dag.Node
		env  []string
		want string
	}{
		{"its own folder", k, dag.Node{Agent: "k"}, env, "k"},
		{"another folder", k, dag.Node{Agent: "k"}, append(env, "K_HOME=/else/"), "k /else"},
		{"the usual folder by name", k, dag.Node{Agent: "k"}, append(env, "K_HOME=/h/.k/"), "k"},
		{"a folder of the node's", k, dag.Node{Agent: "k", Env: map[string]string{"K_HOME": "/node"}}, append(env, "K_HOME=/else"), "k /node"},
		{"a home of the node's", k, dag.Node{Agent: "k", Env: map[string]string{"HOME": "/node"}}, env, "k /node/.k"},
		{"named", k, dag.Node{Agent: "k", Account: "work"}, append(env, "K_HOME=/else"), "k work"},
		{"named as by default", k, dag.Node{Agent: "k", Account: "k"}, env, "k"},
		{"without a folder", Kind{Name: "c"}, dag.Node{Agent: "c"}, env, "c"},
	} {
		if got := c.kind.Account(&c.node, c.env); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTryAgain(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	p := Limits{}.withDefaults()
	for _, c := range []struct {
		name  string
		known run.Limit
		want  time.Duration
	}{
		{"the first time", run.Limit{}, 30 * time.Second},
		{"another has met it", run.Limit{Until: now.Add(7 * time.Second), Times: 1}, 7 * time.Second},
		{"it was not over", run.Limit{Until: now.Add(-time.Second), Times: 1}, time.Minute},
		{"nor then", run.Limit{Until: now, Times: 3}, 4 * time.Minute},
		{"for a long time", run.Limit{Until: now, Times: 99}, 15 * time.Minute},
		{"without an end", run.Limit{Times: 1}, time.Minute},
	} {
		if got := p.tryAgain(c.known, now).Sub(now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A stated end is waited for to the moment, but a service that names one that is
// over at once again and again is not asked in a loop.
func TestStatedEnd(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	p := Limits{}.withDefaults()
	for _, c := range []struct {
		name         string
		stated, want time.Duration
		known        run.Limit
	}{
		{"the first time", time.Second, time.Second, run.Limit{}},
		{"wrong a few times", time.Second, time.Second, run.Limit{Until: now, Times: 3}},
		{"wrong again and again", time.Second, 8 * time.Minute, run.Limit{Until: now, Times: 4}},
		{"later than that", time.Hour, time.Hour, run.Limit{Until: now, Times: 4}},
	} {
		if got := p.lasts(now.Add(c.stated), c.known, now).Sub(now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
