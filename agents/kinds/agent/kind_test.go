package agent

import "testing"

func TestAccount(t *testing.T) {
	k := Kind{Name: "k", Home: HomeIn("K_HOME", ".k")}
	env := []string{"HOME=/h", "K_HOME=", "OTHER=x"}
	for _, c := range []struct {
		name  string
		kind  Kind
		given string
		own   map[string]string
		env   []string
		want  string
	}{
		{"its own folder", k, "", nil, env, "k"},
		{"another folder", k, "", nil, append(env, "K_HOME=/else/"), "k /else"},
		{"the usual folder by name", k, "", nil, append(env, "K_HOME=/h/.k/"), "k"},
		{"a folder of the node's", k, "", map[string]string{"K_HOME": "/node"}, append(env, "K_HOME=/else"), "k /node"},
		{"a home of the node's", k, "", map[string]string{"HOME": "/node"}, env, "k /node/.k"},
		{"named", k, "work", nil, append(env, "K_HOME=/else"), "k work"},
		{"named as by default", k, "k", nil, env, "k"},
		{"without a folder", Kind{Name: "c"}, "", nil, env, "c"},
	} {
		if got := c.kind.Account(c.given, c.own, c.env); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
