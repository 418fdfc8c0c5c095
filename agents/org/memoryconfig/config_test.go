package memoryconfig

import "testing"

// What a person did not set, or set to what is not valid, has its default.
func TestNew(t *testing.T) {
	if c := Default(); c != (Config{Ask, "claude", "haiku", true}) {
		t.Errorf("%+v", c)
	}
	if c := New(map[string]string{"learn": "auto", "model": "sonnet", "inject": "false", "agent": "codex"}); c != (Config{Auto, "claude", "sonnet", false}) {
		t.Errorf("%+v", c)
	}
	for key, value := range map[string]string{"learn": "never", "model": "-x", "inject": "no", "agent": "qwen"} {
		for _, f := range fields() {
			if f.Name == key && f.Set(new(Config), value) == nil {
				t.Errorf("%s: %q passes", key, value)
			}
		}
	}
}
