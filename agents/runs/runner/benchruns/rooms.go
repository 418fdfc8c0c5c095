package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/testkit/modeltest"
)

// rooms is what rooms cost: the real Claude Code as members, with a scripted model on
// loopback.
func (b *bench) rooms(ctx context.Context) error {
	program, err := modeltest.Installed("claude")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return err
	}
	for _, measure := range []func(context.Context, string) error{b.said, b.handovers, b.silence, b.policies} {
		if err := measure(ctx, program); err != nil {
			return err
		}
	}
	return nil
}

// lounge is a site in which rooms can begin.
func (b *bench) lounge(ctx context.Context, program string, scripts ...modeltest.Script) (*site, func(), error) {
	s, err := b.quarters(ctx, program, scripts...)
	if err != nil {
		return nil, nil, err
	}
	return s, func() {
		timed(context.WithoutCancel(ctx), s.dir, s.env, s.cmux, "stop") // killTmux ends what does not
		s.killTmux()
		s.model.Close()
	}, nil
}

// room is the part of cmux rooms show that is measured.
type room struct {
	Room    struct{ Turns, Used int }
	Members []struct{ State string }
}

func (s *site) room(ctx context.Context, name string) (r room, err error) {
	_, out, err := timed(ctx, s.dir, s.env, s.cmux, "rooms", "show", name, "--json")
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(out, &r)
}

// begin begins a room and waits until its members are idle.
func (s *site) begin(ctx context.Context, name, members string, args ...string) error {
	argv := append([]string{s.cmux, "rooms", "start", name, "--agents", members}, args...)
	if _, _, err := timed(ctx, s.dir, s.env, argv...); err != nil {
		return err
	}
	return s.until(ctx, 3*time.Minute, func() (bool, error) {
		r, err := s.room(ctx, name)
		for _, m := range r.Members {
			if m.State != "idle" {
				return false, err
			}
		}
		return err == nil, nil
	})
}

func (s *site) book(name string) string {
	return filepath.Join(s.dir, ".cmux", "rooms", name, "room.jsonl")
}

// said measures from the call that says something to the prompt hook of an idle member,
// beside a paste by hand.
func (b *bench) said(ctx context.Context, program string) error {
	s, end, err := b.lounge(ctx, program, modeltest.Script{Name: "ping", Match: "ping", Turns: []modeltest.Turn{{modeltest.Text("pong")}}})
	if err != nil {
		return err
	}
	defer end()
	if err := s.begin(ctx, "pane", "claude", "--policy", "once", "--pane"); err != nil {
		return err
	}
	if err := s.begin(ctx, "bare", "claude", "--policy", "once"); err != nil {
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
	say := func(what, name string) contestant {
		return contestant{what, func(ctx context.Context, _ string) (cost, error) {
			book := s.book(name)
			n, began := lines(book, `"kind":"took"`), time.Now()
			if _, _, err := timed(ctx, s.dir, s.env, s.cmux, "rooms", "say", name, "ping"); err != nil {
				return cost{}, err
			}
			if err := soon(ctx, time.Minute, func() bool { return lines(book, `"kind":"took"`) > n }); err != nil {
				return cost{}, err
			}
			took := time.Since(began)
			if _, _, err := timed(ctx, s.dir, s.env, s.cmux, "rooms", "wait", name, "--timeout", "1m"); err != nil {
				return cost{}, err
			}
			return cost{wall: ms(took)}, wait(ctx, time.Second)
		}}
	}
	cs := []contestant{*hand, say("cmux rooms say, a member in a window", "pane"), say("cmux rooms say, a member without one", "bare")}
	rounds := b.size(max(15, b.n), 2)
	costs, err := b.rounds(ctx, rounds, cs)
	if err != nil {
		return err
	}
	b.f("### From `cmux rooms say` to the member's prompt\n\nFrom the call to the moment that the room's file says that an idle Claude Code has the turn, as its prompt hook tells, %d rounds in turns. By hand it is one call of tmux that pastes and presses Enter; %d of %[1]d times that did not submit it, and Enter was pressed again after 3 s. Goal: a median of at most 100 ms.\n\n", rounds, again)
	b.besides(cs, costs)
	return nil
}

// asked waits until the model has read n requests, and a moment longer: a further one may
// follow at once.
func (s *site) asked(ctx context.Context, n int) error {
	if err := s.until(ctx, time.Minute, func() (bool, error) { return len(s.model.Requests()) >= n, nil }); err != nil {
		return err
	}
	return wait(ctx, time.Second)
}

// byHand is a Claude Code in a window, whose own hook tells of each prompt, to which a person
// pastes. It counts how often Enter did not submit in again.
func (b *bench) byHand(ctx context.Context, s *site, again *int) (*contestant, func(), error) {
	told := filepath.Join(filepath.Dir(s.dir), "told")
	settings, err := json.Marshal(map[string]any{"hooks": map[string]any{"UserPromptSubmit": []any{map[string]any{
		"hooks": []any{map[string]any{"type": "command", "command": "echo told >>" + told}},
	}}}})
	if err != nil {
		return nil, nil, err
	}
	tmux := func(args ...string) error {
		_, _, err := timed(context.WithoutCancel(ctx), s.dir, s.env, append([]string{"tmux", "-L", b.socket + "-hand", "-f", os.DevNull}, args...)...)
		return err
	}
	end := func() { _ = tmux("kill-server") }
	requests := len(s.model.Requests())
	if err := tmux("new-session", "-d", "-x", "220", "-y", "60", s.program, "--dangerously-skip-permissions", "--settings", string(settings), "--", "ping"); err != nil {
		return nil, end, err
	}
	if err := s.asked(ctx, requests+1); err != nil {
		return nil, end, err
	}
	return &contestant{"tmux paste-buffer, by hand", func(ctx context.Context, _ string) (cost, error) {
		n, requests, began := lines(told, "told"), len(s.model.Requests()), time.Now()
		if err := tmux("set-buffer", "ping", ";", "paste-buffer", "-p", ";", "send-keys", "Enter"); err != nil {
			return cost{}, err
		}
		err := soon(ctx, 3*time.Second, func() bool { return lines(told, "told") > n })
		took := time.Since(began)
		if err != nil { // it was typed and not submitted
			*again++
			if err := tmux("send-keys", "Enter"); err != nil {
				return cost{}, err
			}
			if err := soon(ctx, time.Minute, func() bool { return lines(told, "told") > n }); err != nil {
				return cost{}, err
			}
			took = time.Since(began)
		}
		return cost{wall: ms(took)}, s.asked(ctx, requests+1)
	}}, end, nil
}

// handovers measures from the end of an answer to the next member's turn.
func (b *bench) handovers(ctx context.Context, program string) error {
	say := modeltest.Turn{modeltest.Text("And I say this.")}
	s, end, err := b.lounge(ctx, program, modeltest.Script{Name: "go", Match: "go on", Turns: []modeltest.Turn{say}}, modeltest.Script{Name: "so", Match: "And I say this", Turns: []modeltest.Turn{say}})
	if err != nil {
		return err
	}
	defer end()
	if err := s.begin(ctx, "pair", "claude=a,claude=b", "--policy", "robin", "--turns", "10"); err != nil {
		return err
	}
	for range b.size(4, 1) {
		// exit 3: it is capped, as it should be
		if _, _, err := timed(ctx, s.dir, s.env, "sh", "-c", `"$0" rooms say pair 'go on' --wait --timeout 3m; test $? = 3`, s.cmux); err != nil {
			return err
		}
	}
	turn, took, err := gaps(s.book("pair"))
	if err != nil {
		return err
	}
	appended, err := b.appends(s.book("pair"), len(turn))
	if err != nil {
		return err
	}
	b.f("\n### From the last answer to the next turn\n\nTwo Claude Code without windows speak one after the other, %d times. From the line in the room's file that ends a turn to the one that begins the next, and to the one by which the next member's program has it. Both lines are on the disk. Beside it an append with fdatasync in the same folder. Goal: 20 ms.\n\n", len(turn))
	b.f("| | median | slowest |\n|---|--:|--:|\n")
	for _, row := range []struct {
		what string
		v    []float64
	}{{"an append with fdatasync", appended}, {"the next turn begins", turn}, {"the next program has it", took}} {
		b.f("| %s | %.1f ms | %.1f ms |\n", row.what, median(row.v), quantile(row.v, 1))
	}
	return nil
}

// gaps are the times from the end of each turn to the beginning of the next, and until its
// program had it.
func gaps(book string) (turn, took []float64, err error) {
	text, err := os.ReadFile(book)
	if err != nil {
		return nil, nil, err
	}
	var over time.Time
	for line := range bytes.Lines(text) {
		var l struct {
			At   time.Time
			Kind string
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, nil, err
		}
		switch {
		case l.Kind == "over":
			over = l.At
		case l.Kind == "round":
			over = time.Time{} // a person's question is no answer
		case l.Kind == "turn" && !over.IsZero():
			turn = append(turn, ms(l.At.Sub(over)))
		case l.Kind == "took" && !over.IsZero():
			took = append(took, ms(l.At.Sub(over)))
		}
	}
	return turn, took, nil
}

// appends measures n appends beside a file.
func (b *bench) appends(beside string, n int) (all []float64, err error) {
	f, err := os.CreateTemp(filepath.Dir(beside), "floor-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	line := []byte(strings.Repeat("x", 200) + "\n")
	for range n {
		began := time.Now()
		if _, err := f.Write(line); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		all = append(all, ms(time.Since(began)))
	}
	return all, nil
}

// silence measures what a room costs in which nobody has anything to say.
func (b *bench) silence(ctx context.Context, program string) error {
	n := b.size(16, 2)
	s, end, err := b.lounge(ctx, program)
	if err != nil {
		return err
	}
	defer end()
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf("claude=m%d", i))
	}
	if err := s.begin(ctx, "full", strings.Join(members, ",")); err != nil {
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
	if err := wait(ctx, over); err != nil {
		return err
	}
	after, _, err := s.spent()
	if err != nil {
		return err
	}
	b.f("\n### A room at rest\n\n%d members whose programs are up and that have nothing to do, watched for %s: CPU time of all processes of cmux (monitor and wrappers), and requests to the model since the room began.\n\n", n, over)
	b.f("| members | processes of cmux | CPU | of one core | requests |\n|--:|--:|--:|--:|--:|\n| %d | %d | %.0f ms | %.3f %% | %d |\n", n, count, after-before, (after-before)/ms(over)*100, len(s.model.Requests()))
	return nil
}

// policies measures what one question to three members uses.
func (b *bench) policies(ctx context.Context, program string) error {
	pass := modeltest.Turn{modeltest.Text("[PASS]")}
	s, end, err := b.lounge(ctx, program,
		modeltest.Script{Name: "lead", Match: "You lead this room", Turns: []modeltest.Turn{{modeltest.Text("@b and @c: which store?")}}},
		modeltest.Script{Name: "asked", Match: "@b and @c: which store", Turns: []modeltest.Turn{{modeltest.Text("Postgres: two programs write.")}}},
		modeltest.Script{Name: "judge", Match: "You judge this debate", Turns: []modeltest.Turn{{modeltest.Text("[DECISION] Postgres.")}}},
		modeltest.Script{Name: "which", Match: "Which store", Turns: []modeltest.Turn{{modeltest.Text("SQLite: one file, no server.")}}},
		modeltest.Script{Name: "react", Match: "SQLite: one file", Turns: []modeltest.Turn{pass}},
		modeltest.Script{Name: "led", Match: "Postgres: two programs", Turns: []modeltest.Turn{pass}})
	if err != nil {
		return err
	}
	defer end()
	b.f("\n### One question to three members\n\nThree Claude Code answer once and have nothing to add to each other; the leader of the room asks the two others, and the judge proposes. The scripted model counts 120 tokens for each answer, so these are numbers of answers; what a real one uses grows with what was said. The estimate is what `cmux rooms cost` says before: at least, and at most until the round ends.\n\n")
	b.f("| policy | turns | tokens | estimate |\n|---|--:|--:|--:|\n")
	for _, p := range []struct{ name, question string }{
		{"once", "Which store?"}, {"everybody", "Which store?"}, {"robin", "Which store?"}, {"mentioned", "Which store? @a"}, {"moderator", "Which store?"}, {"debate", "Which store?"},
	} {
		args := map[string][]string{"moderator": {"--moderator", "a"}, "debate": {"--judge", "c"}}[p.name]
		if err := s.begin(ctx, p.name, "claude=a,claude=b,claude=c", append(args, "--policy", p.name)...); err != nil {
			return err
		}
		_, out, err := timed(ctx, s.dir, s.env, s.cmux, "rooms", "cost", p.name, p.question, "--json")
		if err != nil {
			return err
		}
		var estimate struct{ Least, Most int }
		if err := json.Unmarshal(out, &estimate); err != nil {
			return err
		}
		if _, _, err := timed(ctx, s.dir, s.env, s.cmux, "rooms", "say", p.name, p.question, "--wait", "--timeout", "3m"); err != nil {
			return err
		}
		r, err := s.room(ctx, p.name)
		if err != nil {
			return err
		}
		b.f("| `%s` | %d | %d | %d to %d |\n", p.name, r.Room.Turns, r.Room.Used, estimate.Least, estimate.Most)
		if _, _, err := timed(ctx, s.dir, s.env, s.cmux, "rooms", "close", p.name); err != nil {
			return err
		}
	}
	return nil
}
