package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/testkit/modeltest"
)

// organization is what standing agents cost: the real Claude Code, with a
// scripted model on loopback.
func (b *bench) organization(ctx context.Context) error {
	program, err := modeltest.Installed("claude")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return err
	}
	if err := b.messages(ctx, program); err != nil {
		return err
	}
	if err := b.firstWord(ctx, program); err != nil {
		return err
	}
	return b.standstill(ctx, program)
}

// greeted answers what a new agent of that name is told first.
func greeted(name string, turn modeltest.Turn) modeltest.Script {
	return modeltest.Script{Name: "greeted-" + name, Match: "You are " + name + ",", Turns: []modeltest.Turn{turn}}
}

// quarters is a site with an organization that has not started.
func (b *bench) quarters(ctx context.Context, program string, scripts ...modeltest.Script) (*site, error) {
	s, err := b.site(ctx, program, "", scripts...)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(s.dir, ".cmux"), 0o755); err != nil {
		return nil, err
	}
	return s, write(s.dir, ".cmux/config.yml", "permissions: bypass\n")
}

// open starts the organization; the function it returns ends it.
func (s *site) open(ctx context.Context) (end func(), err error) {
	_, _, err = timed(ctx, s.dir, s.env, s.cmux, "start", "--detach")
	return func() {
		timed(context.WithoutCancel(ctx), s.dir, s.env, s.cmux, "stop") // killTmux ends what does not
		s.killTmux()
	}, err
}

// idle waits until n agents of the organization are idle.
func (s *site) resting(ctx context.Context, n int) error {
	return s.until(ctx, 2*time.Minute, func() (bool, error) {
		_, out, err := timed(ctx, s.dir, s.env, s.cmux, "status", "--json")
		return err == nil && bytes.Count(out, []byte(`"state": "idle"`)) == n, nil
	})
}

// soon looks for a fact a thousand times a second.
func soon(ctx context.Context, patience time.Duration, fact func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !fact() {
		if err := wait(ctx, time.Millisecond); err != nil {
			return fmt.Errorf("not within %s: %w", patience, err)
		}
	}
	return nil
}

// lines counts the lines of a file that hold text.
func lines(name, text string) (n int) {
	b, _ := os.ReadFile(name) // one that is not there has none
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// messages measures from the call that sends a message to the prompt hook of an
// idle agent, beside a paste by hand.
func (b *bench) messages(ctx context.Context, program string) error {
	s, err := b.quarters(ctx, program, greeted("supervisor", modeltest.Turn{modeltest.Text("here")}),
		modeltest.Script{Name: "ping", Match: "ping", Turns: []modeltest.Turn{{modeltest.Text("pong")}}})
	if err != nil {
		return err
	}
	defer s.model.Close()
	end, err := s.open(ctx)
	if end != nil {
		defer end()
	}
	if err != nil {
		return err
	}
	if err := s.asked(ctx, 1); err != nil { // of the supervisor
		return err
	}
	again := 0
	hand, end, err := b.byHand(ctx, s, &again)
	if end != nil {
		defer end()
	}
	if err != nil {
		return err
	}
	deliveries := filepath.Join(s.dir, ".cmux", "mailbox.deliveries")
	if err := s.resting(ctx, 1); err != nil {
		return err
	}
	cs := []contestant{
		*hand,
		{"cmux mailbox send", func(ctx context.Context, _ string) (cost, error) {
			n, requests, began := lines(deliveries, `"confirmed"`), len(s.model.Requests()), time.Now()
			if _, _, err := timed(ctx, s.dir, s.env, s.cmux, "mailbox", "send", "supervisor", "ping", "ping"); err != nil {
				return cost{}, err
			}
			if err := soon(ctx, time.Minute, func() bool { return lines(deliveries, `"confirmed"`) > n }); err != nil {
				return cost{}, err
			}
			took := time.Since(began)
			if err := s.asked(ctx, requests+1); err != nil {
				return cost{}, err
			}
			return cost{wall: ms(took)}, s.resting(ctx, 1)
		}},
	}
	rounds := b.size(max(15, b.n), 2)
	costs, err := b.rounds(ctx, rounds, cs)
	if err != nil {
		return err
	}
	b.f("### From a message to the agent's prompt\n\nFrom the call to the moment that the prompt hook of an idle Claude Code has told of it, %d rounds in turns. By cmux that is on record then. By hand it is one call of tmux that pastes and presses Enter; %d of %[1]d times that did not submit it, and Enter was pressed again after 3 s. Goal: a median of at most 100 ms.\n\n", rounds, again)
	b.besides(cs, costs)
	return nil
}

// besides is a table of contestants beside the first.
func (b *bench) besides(cs []contestant, costs [][]cost) {
	hand := walls(costs[0])
	b.f("| | median | slowest | ratio to by hand | above it |\n|---|--:|--:|--:|--:|\n")
	for i := range cs {
		w := walls(costs[i])
		b.f("| `%s` | %.0f ms | %.0f ms | %.2f | %.0f ms |\n", cs[i].name, median(w), quantile(w, 1), median(ratios(w, hand)), median(w)-median(hand))
	}
}

// firstWord measures from the call to the first request of a supervisor.
func (b *bench) firstWord(ctx context.Context, program string) error {
	const prompt = "You are supervisor, and wait. #script:" + heldScript
	way := func(name string, start func(context.Context, *site) (func(), error)) contestant {
		return contestant{name, func(ctx context.Context, _ string) (cost, error) {
			s, err := b.quarters(ctx, program, greeted("supervisor", modeltest.Turn{modeltest.Hold(heldScript)}))
			if err != nil {
				return cost{}, err
			}
			defer s.model.Close()
			began := time.Now()
			end, err := start(ctx, s)
			if end != nil {
				defer end()
			}
			if err == nil {
				err = s.atGate(ctx, heldScript, 1)
			}
			if err != nil {
				return cost{}, err
			}
			return cost{wall: ms(s.model.Requests()[0].At.Sub(began))}, nil
		}}
	}
	cs := []contestant{
		way("tmux new-session claude, by hand", func(ctx context.Context, s *site) (func(), error) {
			_, _, err := timed(ctx, s.dir, s.env, "tmux", "-L", b.socket, "-f", os.DevNull, "new-session", "-d", "-x", "220", "-y", "60", program, "--dangerously-skip-permissions", "--", prompt)
			return b.killTmux, err
		}),
		way("cmux start", func(ctx context.Context, s *site) (func(), error) { return s.open(ctx) }),
	}
	rounds := b.size(max(7, b.n), 1)
	costs, err := b.rounds(ctx, rounds, cs)
	if err != nil {
		return err
	}
	b.f("\n### From `cmux start` to the supervisor's first request\n\nFrom the call to the moment the model has read the first request, %d rounds in turns, each in a new project.\n\n", rounds)
	b.besides(cs, costs)
	return nil
}

// standstill measures what an organization costs in which nothing happens.
func (b *bench) standstill(ctx context.Context, program string) error {
	const workers = 9
	scripts := []modeltest.Script{greeted("supervisor", modeltest.Turn{modeltest.Text("here")})}
	n := b.size(workers, 1)
	for i := range n {
		scripts = append(scripts, greeted(fmt.Sprintf("w%d", i), modeltest.Turn{modeltest.Text("here")}))
	}
	s, err := b.quarters(ctx, program, scripts...)
	if err != nil {
		return err
	}
	defer s.model.Close()
	end, err := s.open(ctx)
	if end != nil {
		defer end()
	}
	if err != nil {
		return err
	}
	for i := range n {
		if _, _, err := timed(ctx, s.dir, s.env, s.cmux, "workers", "spawn", fmt.Sprintf("w%d", i)); err != nil {
			return err
		}
	}
	if err := s.resting(ctx, n+1); err != nil {
		return err
	}
	if err := wait(ctx, 10*time.Second); err != nil { // what the start left to do is not idleness
		return err
	}
	over := time.Duration(b.size(60, 2)) * time.Second
	before, count, err := s.spent()
	if err != nil {
		return err
	}
	poll := fmt.Sprintf("for i in $(seq %d); do sleep 2; for p in $(tmux -L %s list-panes -a -F '#{pane_id}'); do tmux -L %[2]s capture-pane -p -t $p >/dev/null; done; done", max(1, int(over.Seconds()/2)), b.socket)
	if err := wait(ctx, over); err != nil {
		return err
	}
	after, _, err := s.spent()
	if err != nil {
		return err
	}
	polled, _, err := timed(ctx, s.dir, s.env, "sh", "-c", poll)
	if err != nil {
		return err
	}
	b.f("\n### An idle organization\n\n%d agents that rest, watched for %s: CPU time of all processes of cmux (monitor, server, wrappers, the servers of the reporting tools). Beside it, for as long, a shell that captures every pane every 2 s, without what that costs tmux.\n\n", n+1, over)
	b.f("| | processes | CPU | of one core |\n|---|--:|--:|--:|\n")
	b.f("| `cmux start` | %d | %.0f ms | %.3f %% |\n", count, after-before, (after-before)/ms(over)*100)
	b.f("| a poll every 2 s | 1 | %.0f ms | %.3f %% |\n", polled.cpu, polled.cpu/ms(over)*100)
	return nil
}

// spent is the CPU time of the processes of cmux, in ms, and how many there are.
func (s *site) spent() (total float64, n int, err error) {
	ps, err := family(s.dir)
	for _, p := range ps {
		t, err := cpuTime(p.pid)
		if err != nil {
			return 0, 0, err
		}
		total += t
	}
	return total, len(ps), err
}
