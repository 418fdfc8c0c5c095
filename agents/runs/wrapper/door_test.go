package wrapper_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/dag"
)

// say sends lines to the node's socket as they are, and returns the answers.
func (f *fixture) say(lines ...[]byte) []attempt.Reply {
	f.T.Helper()
	conn, err := (&net.Dialer{}).DialContext(f.T.Context(), "unix", f.Run.Socket("a"))
	if err != nil {
		f.T.Fatal(err)
	}
	defer conn.Close()
	dec := json.NewDecoder(conn)
	replies := make([]attempt.Reply, len(lines))
	for i, l := range lines {
		if _, err := conn.Write(l); err != nil {
			f.T.Fatal(err)
		}
		if err := dec.Decode(&replies[i]); err != nil {
			f.T.Fatal(err)
		}
	}
	return replies
}

func (f *fixture) incidents() (all []run.Record) {
	for _, r := range f.Records() {
		if r.Type == run.Incident {
			all = append(all, r)
		}
	}
	return all
}

// Every order that an attempt knows takes the key: any program of the same user
// can reach its socket, and one that was overridden or granted would be done
// unchecked.
func TestOrdersTakeTheKey(t *testing.T) {
	f := newFixture(t, scriptedNode("sleep 1000", nil))
	_, _, wait := f.start()
	c := f.Dial()
	orders := []attempt.Op{attempt.OpCancel, attempt.OpStop, attempt.OpBreak, attempt.OpAnswer, attempt.OpRelease, attempt.OpRetry,
		attempt.OpGranted, attempt.OpAwake, attempt.OpOverridden, attempt.OpBudget, attempt.OpInterrupt}
	for _, op := range orders {
		plain, err := json.Marshal(attempt.Message{Op: op, ID: "x", Token: f.Spec.Token, Text: "yes"})
		if err != nil {
			t.Fatal(err)
		}
		later, err := f.Run.SealOrder("a", f.Spec.Attempt+1, attempt.Message{Op: op, ID: "y"})
		if err != nil {
			t.Fatal(err)
		}
		others, err := f.Run.SealOrder("b", f.Spec.Attempt, attempt.Message{Op: op, ID: "z"})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range f.say(append(plain, '\n'), later, others) {
			if !strings.Contains(r.Error, "a person's to order") {
				t.Errorf("%s, way %d: %+v", op, i, r)
			}
		}
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Fatalf("it has ended: %v", err)
	}
	if got := f.incidents(); len(got) != len(orders) || !strings.Contains(got[0].Detail, `sent "cancel" to the socket of a`) {
		t.Errorf("incidents %+v", got)
	}
	// A copy of an order is none.
	release, err := f.Run.SealOrder("a", f.Spec.Attempt, attempt.Message{Op: attempt.OpRelease, ID: "once"})
	if err != nil {
		t.Fatal(err)
	}
	got := f.say(release, release)
	if !strings.Contains(got[0].Error, "not taken over") || !strings.Contains(got[1].Error, "a person's to order") {
		t.Errorf("%+v", got)
	}
	if err := c.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if code := wait(); code != 130 {
		t.Errorf("exit %d", code)
	}
}

// Reports and hooks of another attempt do not count, with the token that it
// read somewhere either; those of the attempt's own programs do, whatever they
// say of themselves and however they were detached.
func TestReportsAreTheAttempts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, scriptedNode("exec >/dev/null; env -i CMUX_ATTEMPT=$CMUX_RUN/b/1 CMUX_SOCKET=$CMUX_SOCKET CMUX_TOKEN=$CMUX_TOKEN "+
		"setsid "+self+" done 'from within'; sleep 1000", func(n *dag.Node) { n.Verify = []string{"until test -e go; do sleep 0.1; done"} }))
	_, _, wait := f.start()
	c := f.Dial()
	f.Eventually("the report from within is recorded", func() bool { n := f.Last(run.Noted); return n != nil && n.Detail == "from within" })
	for _, args := range [][]string{{"done", "from b"}, {"blocked", "from b"}, {"hook", "activity"}} {
		cmd := exec.CommandContext(t.Context(), self, args...)
		cmd.Env = []string{sealtest.Env(), "CMUX_ATTEMPT=" + f.Run.Plan.ID + "/b/1", "CMUX_SOCKET=" + f.Run.Socket("a"), "CMUX_TOKEN=" + f.Spec.Token}
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "this comes from b and not from a") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	none := func(name string) string { return map[string]string{"CMUX_SOCKET": f.Run.Socket("a")}[name] }
	if _, code, err := wrapper.Hook(context.Background(), none, "activity", strings.NewReader("")); err == nil || code == 0 {
		t.Errorf("a hook without a token: %d, %v", code, err)
	}
	if got := f.incidents(); len(got) != 3 || got[0].Node != "b" {
		t.Errorf("incidents %+v", got)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	touch(t, f, "go")
	if code := wait(); code != 0 {
		t.Errorf("exit %d\n%s", code, f.Log())
	}
	if end := f.Last(run.AttemptEnd); end == nil || end.End.Summary != "from within" {
		t.Errorf("%+v", fmt.Sprint(end))
	}
}
