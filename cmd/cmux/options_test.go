package main

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/logs"
	"cmux/agents/control/merging"
	"cmux/agents/control/remains"
	"cmux/agents/control/runs"
)

// parsed is what a command line makes of a command's options; nil when the
// command did not get to its work.
func parsed[O any](newCmd func(*Deps, func(context.Context, *O) error) *cobra.Command, line string) (o *O, err error) {
	d := &Deps{IO: IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	cmd := newCmd(d, func(_ context.Context, got *O) error { o = got; return nil })
	cmd.SetArgs(strings.Fields(line))
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	return o, cmd.Execute()
}

// flags checks what a command line makes of a command's options.
func flags[O, W any](t *testing.T, newCmd func(*Deps, func(context.Context, *O) error) *cobra.Command, of func(*O) W, lines map[string]W) {
	t.Helper()
	for line, want := range lines {
		o, err := parsed(newCmd, line)
		if err != nil || o == nil {
			t.Errorf("%q: %v", line, err)
		} else if got := of(o); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

func TestOrderOptions(t *testing.T) {
	flags(t, newRetryCmd, func(o *retryOptions) commands.Retry { return o.Retry }, map[string]commands.Retry{
		"api":                      {Node: "api"},
		"--fresh api --downstream": {Node: "api", Downstream: true, Fresh: true},
	})
	flags(t, newAnswerCmd, func(o *answerOptions) answerOptions { return answerOptions{Answer: o.Answer, Ask: o.Ask} }, map[string]answerOptions{
		"api":         {Answer: commands.Answer{Node: "api"}, Ask: true},
		"api the 2nd": {Answer: commands.Answer{Node: "api", Text: "the 2nd"}},
	})
	flags(t, newStopCmd, func(o *stopOptions) string { return o.Node }, map[string]string{"": "", "api": "api"})
	for _, c := range []func(*Deps, func(context.Context, *decideOptions) error) *cobra.Command{newApproveCmd, newOverrideCmd, newReleaseCmd} {
		flags(t, c, func(o *decideOptions) string { return o.Node }, map[string]string{"api": "api"})
		if o, err := parsed(c, ""); err == nil || o != nil {
			t.Errorf("without a name: %v, %v", o, err)
		}
	}
}

func TestWorkOptions(t *testing.T) {
	node := func(want string) map[string]string { return map[string]string{want: want} }
	flags(t, newVerifyCmd, func(o *verifyOptions) string { return o.Node }, node("api"))
	flags(t, newWaitCmd, func(o *waitOptions) runs.Wait { return o.Wait }, map[string]runs.Wait{
		"": {}, "api --timeout 90s": {Node: "api", Timeout: 90 * time.Second},
	})
	flags(t, newLogsCmd, func(o *logsOptions) logsOptions { return logsOptions{Log: o.Log, Raw: o.Raw} }, map[string]logsOptions{
		"api -f":                  {Log: logs.Log{Node: "api", Follow: true}},
		"a-run api -n 3 --prompt": {Log: logs.Log{Run: "a-run", Node: "api", Tail: 3, Prompt: true}},
		"api --json --raw":        {Log: logs.Log{Node: "api", Events: true}, Raw: true},
	})
	flags(t, newDiffCmd, func(o *diffOptions) diffOptions { return diffOptions{Node: o.Node, Raw: o.Raw} }, map[string]diffOptions{
		"api": {Node: "api"}, "--raw api": {Node: "api", Raw: true},
	})
	flags(t, newMergeCmd, func(o *mergeOptions) merging.Merge { return o.Merge }, map[string]merging.Merge{
		"": {}, "--into main --tips": {Into: "main", Tips: true}, "--continue": {Continue: true}, "--abort": {Abort: true},
	})
	if o, err := parsed(newMergeCmd, "--continue --abort"); err == nil || o != nil {
		t.Errorf("to go on and to give up: %v, %v", o, err)
	}
	flags(t, newCleanupCmd, func(o *cleanupOptions) cleanupOptions {
		return cleanupOptions{Yes: o.Yes, Runs: o.Runs, Keep: o.Keep}
	}, map[string]cleanupOptions{"": {Keep: 5}, "-y": {Yes: true, Keep: 5}})
	flags(t, newResumeCmd, func(o *resumeOptions) resumeOptions {
		return resumeOptions{Update: o.Update, Yes: o.Yes, Detach: o.Detach}
	}, map[string]resumeOptions{"": {}, "--update --yes --detach": {Update: true, Yes: true, Detach: true}})
	flags(t, newUpdateCmd, func(o *resumeOptions) resumeOptions {
		return resumeOptions{Update: o.Update, Yes: o.Yes, Detach: o.Detach}
	}, map[string]resumeOptions{"": {Update: true}, "-y --detach": {Update: true, Yes: true, Detach: true}})
	flags(t, newChangelogCmd, func(o *changelogOptions) remains.Changelog { return o.Changelog }, map[string]remains.Changelog{"": {}, "a-run": {Run: "a-run"}})
	flags(t, newSharedCmd, func(o *sharedOptions) sharedOptions {
		return sharedOptions{Restore: o.Restore, Accept: o.Accept, JSON: o.JSON, From: o.From}
	}, map[string]sharedOptions{"--json": {JSON: true}, "--accept": {Accept: true}, "--restore --from f": {Restore: true, From: "f"}})
}

func TestAttachOptions(t *testing.T) {
	flags(t, newAttachCmd, func(o *attachOptions) attachOptions { return attachOptions{Attach: o.Attach, Yes: o.Yes} }, map[string]attachOptions{
		"": {}, "api --yes": {Attach: control.Attach{Node: "api"}, Yes: true}, "--pane api": {Attach: control.Attach{Node: "api", Pane: true}},
	})
}

func TestShowOptions(t *testing.T) {
	flags(t, newStatusCmd, func(o *statusOptions) [3]bool { return [3]bool{o.JSON, o.Watch, o.Verbose} }, map[string][3]bool{
		"": {}, "--json": {true, false, false}, "--watch": {false, true, false}, "-v": {false, false, true},
	})
	for _, line := range []string{"--json --watch", "--json --verbose", "a-run another"} {
		if o, err := parsed(newStatusCmd, line); err == nil || o != nil {
			t.Errorf("%q: %v, %v", line, o, err)
		}
	}
	flags(t, newStatusCmd, func(o *statusOptions) string { return o.Run }, map[string]string{"": "", "a-run": "a-run"})
	flags(t, newListCmd, func(o *listOptions) bool { return o.JSON }, map[string]bool{"": false, "--json": true})
	flags(t, newDoctorCmd, func(o *doctorOptions) bool { return o.JSON }, map[string]bool{"": false, "--json": true})
	flags(t, newSnapshotsListCmd, func(o *snapshotsListOptions) bool { return o.JSON }, map[string]bool{"": false, "--json": true})
	flags(t, newSnapshotsRestoreCmd, func(o *snapshotsRestoreOptions) remains.Restore { return o.Restore }, map[string]remains.Restore{
		"api": {Snapshot: "api"}, "api --to ../x --branch y": {Snapshot: "api", To: "../x", Branch: "y"},
	})
}

func TestStartOptions(t *testing.T) {
	flags(t, newStartCmd, func(o *startOptions) startOptions {
		return startOptions{Start: o.Start, Yes: o.Yes, Detach: o.Detach}
	}, map[string]startOptions{
		"":                     {},
		"-y --detach":          {Yes: true, Detach: true},
		"--dry-run --headless": {Start: commands.Start{Dry: true, Headless: true}},
		"--config f --base b":  {Start: commands.Start{Config: "f", Base: "b"}},
		"--new --fresh":        {Start: commands.Start{New: true, Fresh: true}},
	})
}

func TestInitOptions(t *testing.T) {
	plain := answers{WorktreeBase: "..", MainPane: true}
	flags(t, newInitCmd, func(o *initOptions) initOptions {
		c := *o
		c.IO, c.Project = nil, nil
		return c
	}, map[string]initOptions{
		"":                                       {answers: plain},
		"--agent a --agent b:task=x --force":     {answers: plain, agents: []string{"a", "b:task=x"}, force: true},
		"--from-issues 1,2 --config f --verify=": {answers: plain, issues: "1,2", config: "f", verifyGiven: true},
	})
	flags(t, newGraphCmd, func(o *graphOptions) [2]string { return [2]string{o.Config, o.Format} }, map[string][2]string{
		"": {"", "text"}, "--config f --format dot": {"f", "dot"},
	})
}
