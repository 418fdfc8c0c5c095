package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"cmux/agents/testkit/modeltest"
)

// reports counts what a node costs until it is done, whose check fails at first:
// with reports by tool, and by command.
func (b *bench) reports(ctx context.Context, program string) error {
	by := func(name string, report modeltest.Step, after ...modeltest.Turn) modeltest.Script {
		write := func(file string) modeltest.Turn {
			return modeltest.Turn{modeltest.Shell("echo made > " + file + " && git add -A && git commit -q -m work")}
		}
		turns := append([]modeltest.Turn{write("a.txt"), {report}}, after...)
		turns = append(turns, write("ready"), modeltest.Turn{report}, modeltest.Turn{modeltest.Text("It is finished.")})
		return modeltest.Script{Name: name, Turns: turns}
	}
	scripts := []modeltest.Script{
		by("command", modeltest.Report("made it"), modeltest.Turn{modeltest.Text("I have reported.")}),
		by("tool", modeltest.ToolUse{Name: "mcp__cmux__done", Input: map[string]string{"summary": "made it"}}),
	}
	b.f("\n### From the prompt to done, by the way of reporting\n\n")
	b.f("One node that writes and commits a file, reports, has a failing check handed back, mends it and reports again. Requests are those that the model got; what they hold is counted in bytes, as a script counts no tokens: a request repeats the whole conversation.\n\n")
	b.f("| | requests | of them after the last report | sent to the model |\n|---|--:|--:|--:|\n")
	for _, where := range []string{"--headless", "--detach"} {
		for _, script := range scripts {
			requests, late, sent, err := b.oneNode(ctx, program, where, script)
			if err != nil {
				return err
			}
			b.f("| by %s, `start %s` | %d | %d | %d kB |\n", script.Name, where, requests, late, (sent+500)/1000)
		}
	}
	return nil
}

// oneNode runs a node by the script to its end.
func (b *bench) oneNode(ctx context.Context, program, where string, script modeltest.Script) (requests, late, sent int, err error) {
	config := fmt.Sprintf("session: bench%d\ndefaults: {agent: claude, auto_accept: true}\nagents:\n  - {name: a, task: \"Do the whole task. #script:%s\", verify: [\"test -e ready\"]}\n", os.Getpid(), script.Name)
	s, err := b.site(ctx, program, config, script)
	if err != nil {
		return 0, 0, 0, err
	}
	defer s.model.Close()
	if _, _, err = timed(ctx, s.dir, s.env, s.cmux, "agents", "start", "--yes", where); err != nil {
		return 0, 0, 0, err
	}
	if where == "--detach" {
		defer s.killTmux()
		if _, _, err = timed(ctx, s.dir, s.env, s.cmux, "agents", "wait", "--timeout", (5 * time.Minute).String()); err != nil {
			return 0, 0, 0, err
		}
	}
	for _, r := range s.model.Requests() {
		requests++
		sent += len(r.Body)
		if r.Turn == len(script.Turns)-1 {
			late++
		}
	}
	return requests, late, sent, nil
}
