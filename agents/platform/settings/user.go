package settings

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"cmux/dag"
	"cmux/dag/keys"
)

// User is a person's own configuration, for all their runs of all projects.
type User struct {
	MaxAgents int           // how many agents work at the same time; 0: no bound
	Fence     dag.FenceMode // what a repository may only make stricter; empty: auto
	FenceHide []string      // what every fence hides, as in dag.Fence
	On        []string      // the machines that carry out nodes with runs_on, as URLs
	Hosts     []string      // additional hosts of the dashboard, as written; see HostOrigin
}

func userFields() []keys.Field[User] {
	return []keys.Field[User]{
		keys.Count(keys.Key{Name: "max_agents", Def: "no limit", Example: "max_agents: 4", Least: 1,
			Doc: "How many AI agents may work at the same time, in all your runs of all projects together. Commands, gates and merges do not count. An agent that needs input or waits for a usage limit does not count either; it takes a place again to continue."},
			func(u *User) *int { return &u.MaxAgents }),
		keys.Choice(keys.Key{Name: "fence", Def: "`auto`; `off` for `kimi`, `qwen`, `opencode`, `gemini` and `acp`", Example: "fence: require", Allowed: dag.FenceModes(),
			Doc: "The fence around the agents of all your runs and organizations, see `fence` of a run: a repository's configuration can only make it stricter. `off` leaves it to the repository."},
			func(u *User) *dag.FenceMode { return &u.Fence }),
		keys.List(keys.Key{Name: "fence_hide", Example: "fence_hide: [~/.ssh, ~/.aws, ~/.config/gh]",
			Doc: "Files and folders that every fence hides, beside `fence.hide` of a run. They begin with `/` or `~/`."},
			func(u *User) *[]string { return &u.FenceHide }, dag.PlaceOutside),
		keys.List(keys.Key{Name: "on", Example: "on: [ssh://box]", Pattern: `^ssh://[^\s]+$`, Hint: "ssh://[USER@]HOST[:PORT]",
			Doc: "The machines that carry out nodes with `runs_on`: `ssh://[USER@]HOST[:PORT]`, where `cmux machines serve` runs. `cmux agents start --on` and the variable `CMUX_ON` name others. A repository cannot: it must not decide where your code goes."},
			func(u *User) *[]string { return &u.On }),
		keys.List(keys.Key{Name: "hosts", Example: "hosts: [\"localhost:9000\", \"https://name-8420.app.github.dev\"]",
			Doc: "Hosts beside its own that the dashboard answers at: host and port as your browser shows them, such as a forwarded port or a tunnel; `https://` in front where it has TLS. The server checks the exact host of each request, which keeps foreign pages out. A browser sends the login of a host to every port of that host: list a host only if you trust what listens there. A change counts at once."},
			func(u *User) *[]string { return &u.Hosts }, hostName),
	}
}

// hostName refuses a host that no browser would send.
func hostName(r *keys.Reader, _ string, at *yaml.Node, s string) bool {
	if _, err := HostOrigin(s); err != nil {
		r.Fault(at, "as in localhost:9000 or https://name.example", "host %q: %v", keys.Shorten(s), err)
		return false
	}
	return true
}

// HostOrigin returns the origin of the pages of a host. host is HOST or HOST:PORT,
// optionally with http:// or https:// in front; without a scheme it is http.
func HostOrigin(host string) (string, error) {
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(strings.ToLower(host))
	switch {
	case err != nil:
		return "", errors.New("not an address")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("the scheme is neither http nor https")
	case u.Hostname() == "" || strings.Trim(u.Hostname(), "abcdefghijklmnopqrstuvwxyz0123456789-._:") != "":
		return "", errors.New("the host name is missing or a pattern; list each host by its full name")
	case u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("more than a host and a port")
	}
	return u.Scheme + "://" + u.Host, nil
}

// Parse reads a person's configuration. name is the name of the file in faults. The error
// is of type keys.Faults and holds all problems at once. A missing key leaves its field
// empty.
func Parse(name string, src []byte) (u User, err error) {
	r, top := keys.NewReader(name), keys.NewTable(userFields())
	err = top.Parse(r, &u, src, func(e keys.Entry) string {
		if slices.ContainsFunc(dag.RootKeys(), func(k keys.Key) bool { return k.Name == e.Name }) {
			return "it belongs to a project's .cmux-agents.yml"
		}
		return r.Near(e.Name, top.Names)
	})
	if err != nil {
		return User{}, err
	}
	return u, nil
}

// Schema returns the JSON Schema of a person's configuration, for editors.
func Schema() []byte {
	return keys.Document("cmux", "What you set for all your runs: ~/.config/cmux/config.yml", keys.Describes(userFields()), nil)
}

// Reference returns docs/configuration.md: the keys of a run's configuration and of a
// person's own.
func Reference() string { return dag.Reference(keys.Describes(userFields())) }
