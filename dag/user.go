package dag

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// User is a person's own configuration, for all their runs of all projects.
type User struct {
	MaxAgents int      // how many agents work at the same time; 0: no bound
	Hosts     []string // additional hosts of the dashboard, as written; see HostOrigin
}

func userFields() []field[User] {
	return []field[User]{
		countField(key{name: "max_agents", def: "no limit", example: "max_agents: 4", least: 1,
			doc: "How many AI agents may work at the same time, in all your runs of all projects together. Commands, gates and merges do not count. An agent that needs input or waits for a usage limit does not count either; it takes a place again to continue."},
			func(u *User) *int { return &u.MaxAgents }),
		listField(key{name: "hosts", example: "hosts: [\"localhost:9000\", \"https://name-8420.app.github.dev\"]",
			doc: "Hosts beside its own that the dashboard answers at: host and port as your browser shows them, such as a forwarded port or a tunnel; `https://` in front where it has TLS. The server checks the exact host of each request, which keeps foreign pages out. A browser sends the login of a host to every port of that host: list a host only if you trust what listens there. A change counts at once."},
			func(u *User) *[]string { return &u.Hosts }, hostName),
	}
}

// hostName refuses a host that no browser would send.
func hostName(p *parser, _ string, at *yaml.Node, s string) bool {
	if _, err := HostOrigin(s); err != nil {
		p.fault(at, "as in localhost:9000 or https://name.example", "host %q: %v", shorten(s), err)
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

// ParseUser reads a person's configuration. name is the name of the file in faults. The
// error is of type Faults and holds all problems at once. A missing key leaves its field
// empty.
func ParseUser(name string, src []byte) (User, error) {
	var empty yaml.Node
	if err := yaml.Unmarshal(src, &empty); err == nil && (empty.Kind == 0 || isNull(empty.Content[0])) && len(src) <= maxSource {
		return User{}, nil
	}
	p := &parser{file: name, files: []string{name}, seen: make(map[Fault]bool), fileOf: make(map[*yaml.Node]string), suggest: suggester{left: 100_000}}
	top := indexFields(userFields())
	var u User
	if root := p.root(src); root != nil {
		for _, e := range p.entries(root, "the file") {
			f, ok := top.byName[e.name]
			switch {
			case strings.HasPrefix(e.name, "x-"):
			case !ok:
				hint := p.suggest.near(e.name, top.names)
				if slices.ContainsFunc(new(parser).rootFields(), func(f field[Graph]) bool { return f.name == e.name }) {
					hint = "it belongs to a project's .cmux-agents.yml"
				}
				p.fault(e.key, hint, "unknown key %q", e.name)
			case !isNull(e.val):
				f.read(p, &u, e.val)
			}
		}
	}
	slices.SortFunc(p.faults, p.byPosition)
	if len(p.faults) > 0 {
		return User{}, p.faults
	}
	return u, nil
}

func userKeys() (keys []key) {
	for _, f := range userFields() {
		keys = append(keys, f.key)
	}
	return keys
}

// UserSchema returns the JSON Schema of a person's configuration, for editors.
func UserSchema() []byte {
	root := object(userKeys())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "cmux"
	root["description"] = "What you set for all your runs: ~/.config/cmux/config.yml"
	root["patternProperties"] = dict{"^x-": dict{"description": "Not read: a place for anchors."}}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("strings, numbers and maps of them can be written: %v", err))
	}
	return append(b, '\n')
}
