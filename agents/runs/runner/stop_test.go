package runner

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
)

// An agent that ends by itself at the moment that it is told to is ended: that
// is no failure of whoever told it.
func TestStopOfWhatEndsByItself(t *testing.T) {
	p := newProject(t, `
session: s
agents:
  - {name: api, agent: scripted, role: review, task: 'while ! test -e $CMUX_RUN_DIR/go; do sleep 0.1; done; cmux done x'}
`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := p.create(func(o *StartOptions) { o.Binary, o.Kinds = self, aiKinds() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		_, err := Run(ctx, Options{Run: r, How: HowStart, Kinds: aiKinds()})
		over <- err
	}()
	defer func() { cancel(); <-over }()
	p.until("api can be reached", func() bool {
		l, err := host.Dial(ctx, r, host.Ref{Node: "api", N: 1})
		if err == nil {
			l.Close()
		}
		return err == nil
	})
	told := false
	ended, err := endAgents(ctx, r, "", func(ctx context.Context, l host.Link) error {
		told = true
		p.write(strings.TrimPrefix(r.Dir, p.root+"/")+"/go", "")
		<-l.Gone()
		err := order(attempt.OpStop)(ctx, l)
		if !errors.Is(err, host.ErrGone) {
			t.Errorf("a wrapper that has ended says %v", err)
		}
		return err
	})
	if err != nil || !told || !slices.Equal(ended, []string{"api"}) {
		t.Errorf("ended %q, %v; told: %v", ended, err, told)
	}
	p.becomes(r, "api: done")
}
