package control

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"cmux/agents/control/project"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// prefsFile holds what a person likes to see, in .cmux.
const prefsFile = "prefs.json"

// maxPrefs bounds preferences, in bytes.
const maxPrefs = 64 << 10

// Prefs are a person's preferences, of which only clients know what they mean.
type Prefs map[string]any

// Prefs are the preferences of the project's person.
func (p *Project) Prefs() (Prefs, error) {
	prefs := Prefs{}
	b, err := signals.ReadFile(filepath.Join(run.Folder(p.Root), prefsFile), maxPrefs)
	if errors.Is(err, fs.ErrNotExist) {
		return prefs, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &prefs)
	}
	return prefs, err
}

// SetPrefs changes preferences; what is null goes.
func (p *Project) SetPrefs(changes Prefs) (Prefs, error) {
	prefs, err := p.Prefs()
	if err != nil {
		return nil, err
	}
	for k, v := range changes {
		if v == nil {
			delete(prefs, k)
		} else {
			prefs[k] = v
		}
	}
	b, err := json.MarshalIndent(prefs, "", "  ")
	if err != nil {
		return nil, err
	}
	if len(b) > maxPrefs {
		return nil, project.Usage("", "preferences may take %d bytes, and these take %d", maxPrefs, len(b))
	}
	return prefs, signals.WriteFile(filepath.Join(run.Folder(p.Root), prefsFile), append(b, '\n'), 0o600)
}
