package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cmux/agents/kinds"
	"cmux/cmd/cmux/cli"
	"cmux/worktree/hint"
)

// A wrong command line is an error of usage, in cmux's own words, and names
// what was most likely meant.
func TestUsage(t *testing.T) {
	for _, c := range []struct{ line, text, try string }{
		{"agents strat", `cmux agents has no command "strat"`, "cmux agents start"},
		{"agnets strat", `cmux has no command "agnets"`, "cmux agents"},
		{"agnets start --yes", `cmux has no command "agnets"`, "cmux agents start"},
		{"wait --timeout 1s", `cmux has no command "wait"`, "cmux agents wait, or cmux rooms wait"},
		{"staus", `cmux has no command "staus"`, "cmux status"},
		{"list", `cmux has no command "list"`, "cmux agents list, or cmux backlog list, or cmux cards list, or others: cmux --help"},
		{"snapshots lst", `cmux snapshots has no command "lst"`, "cmux snapshots list"},
		{"agents log api", `cmux agents has no command "log"`, "cmux agents logs, or cmux recover log, or cmux rooms log, or cmux tasks log"},
		{"agents runs", `cmux agents has no command "runs"`, "cmux agents list"},
		{"projects ls", `cmux projects has no command "ls"`, "cmux projects list"},
		{"projects rm shop", `cmux projects has no command "rm"`, "cmux projects remove"},
		{"locks ls", `cmux locks has no command "ls"`, "cmux locks list"},
		{"locks rm db", `cmux locks has no command "rm"`, "cmux locks --help"},
		{"ls", `cmux has no command "ls"`, "cmux agents list, or cmux backlog list, or cmux cards list, or others: cmux --help"},
		{"agents snapshots", `cmux agents has no command "snapshots"`, "cmux snapshots"},
		{"agents restore api", `cmux agents has no command "restore"`, "cmux snapshots restore"},
		{"completion bsh", `cmux completion has no command "bsh"`, "cmux completion bash"},
		{"bash", `cmux has no command "bash"`, "cmux --help"},
		{"exec", `cmux has no command "exec"`, "cmux --help"},
		{"mailbox reply m1 yes", `cmux mailbox has no command "reply"`, "cmux mailbox send"},
		{"nonsense", `cmux has no command "nonsense"`, "cmux --help"},
		{"agents logs", "cmux agents logs needs NAME", "cmux agents logs --help"},
		{"agents answer", "cmux agents answer needs NAME", "cmux agents answer --help"},
		{"agents diff a b", `cmux agents diff takes NAME, and "b" is one more`, "cmux agents diff --help"},
		{"agents stop a b", `cmux agents stop takes [NAME], and "b" is one more`, "cmux agents stop --help"},
		{"agents logs a b c", `cmux agents logs takes [RUN] NAME, and "c" is one more`, "cmux agents logs --help"},
		{"agents logs a --tail 0", "--tail must be 1 or more", "cmux agents logs --help"},
		{"agents logs a --tail x", `--tail "x": want a whole number`, "cmux agents logs --help"},
		{"agents list x", `cmux agents list takes no arguments: unexpected "x"`, "cmux agents list --help"},
		{"completion bash x", `cmux completion bash takes no arguments: unexpected "x"`, "cmux completion bash --help"},
		{"agents status --jsn", "cmux agents status has no option --jsn", "--json instead of --jsn"},
		{"agents status --nonsense=3", "cmux agents status has no option --nonsense", "cmux agents status --help"},
		{"agents status -vq", "cmux agents status has no option -q", "cmux agents status --help"},
		{"--nope", "cmux has no option --nope", "cmux --help"},
		{"agents wait --timeout", "--timeout needs a time, such as 90s, 10m or 1h30m", "cmux agents wait --help"},
		{"agents wait --timeout soon", `--timeout "soon": want a time, such as 90s, 10m or 1h30m`, "cmux agents wait --help"},
		{"agents init --force=maybe", `--force "maybe": want true or false, or nothing after it`, "cmux agents init --help"},
		{"agents init --config", "--config needs a value", "cmux agents init --help"},
		{"agents status --=x", "--=x is no option", "cmux agents status --help"},
		{"agents status --json --watch", "--json and --watch exclude each other", "cmux agents status --help"},
		{"agents merge --abort --continue", "--abort and --continue exclude each other", "cmux agents merge --help"},
	} {
		d := &cli.Deps{IO: cli.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, Dir: t.TempDir()}
		root := newRoot(d)
		root.SetArgs(strings.Fields(c.line))
		err := root.ExecuteContext(context.Background())
		text, try := hint.Explain(err)
		if text != c.text || try != c.try || exitCode(err) != 2 {
			t.Errorf("cmux %s: exit code %d\n  got  %s\n       try: %s\n  want %s\n       try: %s", c.line, exitCode(err), text, try, c.text, c.try)
		}
	}
}

// What a hook and a wrapper are answered does not depend on the other commands,
// which are not there for them.
func TestRootFor(t *testing.T) {
	said := func(root func(*cli.Deps, []string) *cobra.Command, line string) string {
		var out strings.Builder
		d := &cli.Deps{IO: cli.IO{In: strings.NewReader("{}"), Out: &out, Err: &out}, Dir: t.TempDir(), Kinds: kinds.All()}
		args := strings.Fields(line)
		r := root(d, args)
		r.SetArgs(args)
		err := r.ExecuteContext(t.Context())
		d.Report(err)
		return fmt.Sprintf("%d %s", exitCode(err), out.String())
	}
	whole := func(d *cli.Deps, _ []string) *cobra.Command { return newRoot(d) }
	for _, line := range []string{
		"hook Stop", "hook PreToolUse", "hook", "hook Stop again", "hook Stop --what", "hook --help", "hook Stop --help", "hook -h", "hook --what Stop",
		"agents exec", "agents exec a", "agents exec a --run /nowhere", "agents exec --run /nowhere --spare", "agents exec a --attempt x",
		"agents exec --help", "agents exec a b c", "agents exec a --session s --run /nowhere", "agents exek", "agents", "hooks Stop", "--help hook",
	} {
		if got, want := said(rootFor, line), said(whole, line); got != want {
			t.Errorf("cmux %s: %s\nwith all commands there: %s", line, got, want)
		}
	}
	for line, most := range map[string]int{"hook Stop": 2, "agents exec a": 3} {
		n := 0
		each(rootFor(&cli.Deps{}, strings.Fields(line)), func(*cobra.Command) { n++ })
		if n > most {
			t.Errorf("cmux %s builds %d commands", line, n)
		}
	}
}
