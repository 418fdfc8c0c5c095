package attempt_test

import (
	"strings"
	"testing"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// A report that comes before the outputs it goes with is sent back; a secret is
// no output, and no value stands in the log.
func TestOutputsComeBeforeTheReport(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{Outputs: []string{"version"}, Env: map[string]string{"SERVICE_TOKEN": "abcdefghijkl"}})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	publish := func(key, value string) string {
		return f.say(attempt.Message{Op: attempt.OpOutput, Token: "secret", Key: key, Text: value}).Error
	}
	if why := publish("version", "at abcdefghijkl"); !strings.Contains(why, "contains the value of $SERVICE_TOKEN") {
		t.Errorf("a secret is refused with %q", why)
	}
	f.done("nothing was needed: x")
	f.told(1, "not published: version")
	if why := publish("version", "1.2.3-very-own"); why != "" {
		t.Error(why)
	}
	f.done("nothing was needed: x")
	end, err := wait()
	if err != nil || end.Outcome != dag.Done {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
	var keys []string
	for _, r := range f.records {
		if r.Type == run.Output {
			keys = append(keys, r.Key+"="+r.Value)
		}
	}
	if len(keys) != 1 || keys[0] != "version=1.2.3-very-own" {
		t.Errorf("recorded %q", keys)
	}
	if strings.Contains(f.log(), "very-own") || !strings.Contains(f.log(), "version") {
		t.Errorf("the log: %s", f.log())
	}
}

// A command publishes by its file; what an earlier attempt has published counts.
func TestCommandPublishes(t *testing.T) {
	for _, c := range []struct {
		task    string
		earlier dag.Outputs
		want    string // outputs, or why it failed
	}{
		{`printf 'a=1\nb<<E\n2\n3\nE\n' > "$CMUX_OUTPUT"`, "", `{"a":"1","b":"2\n3"}`},
		{`echo b=2 > "$CMUX_OUTPUT"`, dag.Outputs("").With("a", "0"), `{"b":"2"}`},
		{`echo b=2 > "$CMUX_OUTPUT"`, "", "outputs not published: a"},
		{`echo 'a b' > "$CMUX_OUTPUT"`, "", `$CMUX_OUTPUT: line 1 is not KEY=VALUE: "a b"`},
		{`echo "a=$CMUX_TOKEN-and-more" > "$CMUX_OUTPUT"`, "", ""},
		{`echo a=1 > "$CMUX_OUTPUT"; exit 3`, "", ""},
		{`mkdir "$CMUX_OUTPUT"`, "", "$CMUX_OUTPUT: "},
	} {
		f := newFixture(t, dag.Node{Task: c.task, Outputs: []string{"a"}})
		f.job.Spec.Token = "not-known-to-anyone"
		f.job.Spec.Outputs = c.earlier
		end := f.run()
		var have dag.Outputs
		for _, r := range f.records {
			if r.Type == run.Output {
				have = have.With(r.Key, r.Value)
			}
		}
		switch {
		case strings.HasPrefix(c.want, "{"):
			if end.Outcome != dag.Done || string(have) != c.want {
				t.Errorf("%s: %+v, published %s", c.task, end, have)
			}
		case end.Outcome != dag.Failed || !strings.Contains(end.Detail, c.want):
			t.Errorf("%s: %+v", c.task, end)
		case c.want == "" && have != "":
			t.Errorf("%s: published %s", c.task, have)
		}
	}
}
