package control

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"cmux/agents/control/configfile"
	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// OrgConfig is the organization's configuration as it is in force, beside what
// its file says.
type OrgConfig struct {
	File    string         `json:"file"`     // as a person names it
	There   bool           `json:"there"`    // the file is there
	InForce []Setting      `json:"in_force"` // by key
	Changes []ConfigChange `json:"changes"`  // what applying the file would change, by key

	p    *Project
	org  *standing.Org
	want standing.Settings
}

// Setting is a key of the configuration and its value, as YAML writes it.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// ConfigChange is a key of which the file says something else than is in force.
type ConfigChange struct {
	Key     string `json:"key"`
	InForce string `json:"in_force"` // empty: nothing
	File    string `json:"file"`     // empty: nothing
}

func (c ConfigChange) String() string {
	nothing := func(s string) string {
		if s == "" {
			return "nothing"
		}
		return s
	}
	return fmt.Sprintf("%s: %s -> %s", c.Key, nothing(c.InForce), nothing(c.File))
}

// OrgConfig reads what is in force and what the file says.
func (p *Project) OrgConfig() (*OrgConfig, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	c, err := p.Configured()
	if err != nil {
		return nil, err
	}
	path := p.ConfigPath()
	o := &OrgConfig{File: p.Short(path), p: p, org: org, InForce: []Setting{}}
	if _, err := os.Lstat(path); err == nil {
		o.There = true
	}
	kind := supervisorKind(c)
	if a := org.Agents[standing.Supervisor]; a != nil {
		kind = a.Member.Kind
	}
	o.want = c.Settings(org.Settings, kind)
	now, err := flat(org.Settings)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(now)) {
		o.InForce = append(o.InForce, Setting{key, now[key]})
	}
	o.Changes, err = changes(org.Settings, o.want)
	return o, err
}

// changes are the keys in which two settings differ.
func changes(now, then standing.Settings) ([]ConfigChange, error) {
	a, err := flat(now)
	if err != nil {
		return nil, err
	}
	b, err := flat(then)
	if err != nil {
		return nil, err
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	all := []ConfigChange{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if a[key] != b[key] {
			all = append(all, ConfigChange{key, a[key], b[key]})
		}
	}
	return all, nil
}

// flat are settings by the keys of the configuration; what says nothing is left
// out.
func flat(s standing.Settings) (map[string]string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		return nil, err
	}
	if v, ok := tree["voice"]; ok {
		tree["notify.voice"] = v
		delete(tree, "voice")
	}
	for _, key := range []string{"agent", "model"} {
		if v, ok := tree[key]; ok {
			tree["worker."+key] = v
			delete(tree, key)
		}
	}
	all := make(map[string]string)
	var walk func(prefix string, tree map[string]any)
	walk = func(prefix string, tree map[string]any) {
		for key, v := range tree {
			switch v := v.(type) {
			case map[string]any:
				walk(prefix+key+".", v)
			case string:
				if v != "" {
					all[prefix+key] = v
				}
			case float64:
				if v != 0 {
					all[prefix+key] = fmt.Sprint(v)
				}
			case nil:
			case bool:
				if v {
					all[prefix+key] = "true"
				}
			default:
				var b strings.Builder
				e := json.NewEncoder(&b)
				e.SetEscapeHTML(false) // people read it in a terminal
				if e.Encode(v) == nil {
					all[prefix+key] = strings.TrimSuffix(b.String(), "\n")
				}
			}
		}
	}
	walk("", tree)
	return all, nil
}

// Apply takes what the file said into use. The keeper knows it with its next
// look; an agent that runs acts as before until it is started again.
func (c *OrgConfig) Apply(ctx context.Context) error {
	repo, err := worktree.Open(ctx, c.p.Root)
	if err != nil {
		return err
	}
	if _, err := repo.Base(ctx, c.want.Integration); err != nil {
		return hint.New(fmt.Errorf("the branch that work comes together on: %w", err), "another integration: in .cmux/config.yml")
	}
	return c.org.Set(ctx, c.want)
}

// ApplyConfig applies what the file says, as long as that is what a person was
// shown: another agent or person may have written it since.
func (p *Project) ApplyConfig(ctx context.Context, seen []ConfigChange) (*OrgConfig, error) {
	c, err := p.OrgConfig()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(c.Changes, seen) {
		return nil, hint.New(fmt.Errorf("%s has changed since it was looked at: nothing was applied", c.File), "cmux config, and then apply what that shows")
	}
	if err := c.Apply(ctx); err != nil {
		return nil, err
	}
	return p.OrgConfig()
}

// ConfigSchema is the JSON Schema of the organization's configuration.
func ConfigSchema() []byte { return standing.ConfigSchema() }

// ConfigCheck is what is wrong with a text as the organization's configuration.
type ConfigCheck struct {
	Faults []configfile.ConfigFault `json:"faults"`
}

// newConfig is what a new file of the organization's configuration begins with.
const newConfig = "# The organization's configuration. Every key is optional: Ctrl+Space lists the keys.\n"

// ConfigText reads the file of the organization's configuration. If there is none, its
// text is what a new file begins with.
func (p *Project) ConfigText() (*configfile.ConfigText, error) {
	t, err := p.Configurations().Text(configSource(p))
	if err == nil && !t.There {
		t.Text = newConfig
	}
	return t, err
}

// CheckConfig checks a text as cmux start and cmux config apply do.
func (p *Project) CheckConfig(text string) (c ConfigCheck, err error) {
	_, err = p.ParseConfig([]byte(text))
	c.Faults, err = configfile.Faults(err)
	return c, err
}

// WriteConfig writes a text as the organization's configuration, in place of the one that
// sum names. It refuses a text with faults: the next start would fail on it.
func (p *Project) WriteConfig(ctx context.Context, text, sum string) (*configfile.ConfigText, error) {
	if _, err := p.ParseConfig([]byte(text)); err != nil {
		return nil, fmt.Errorf("nothing was written: %w", err)
	}
	return p.Configurations().WriteText(ctx, configSource(p), text, sum)
}

func configSource(p *Project) configfile.Source {
	return configfile.Source{Path: p.ConfigPath(), Read: project.ReadConfig}
}
