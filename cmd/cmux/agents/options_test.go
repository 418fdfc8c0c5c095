package agents

import (
	"context"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/agents/control/logs"
	"cmux/agents/control/merging"
	"cmux/agents/control/remains"
	"cmux/agents/control/runs"
	"cmux/agents/control/terminals"
	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/cli/clitest"
)

func TestOrderOptions(t *testing.T) {
	clitest.Flags(t, newRetryCmd, func(o *retryOptions) commands.Retry { return o.Retry }, map[string]commands.Retry{
		"api":                      {Node: "api"},
		"--fresh api --downstream": {Node: "api", Downstream: true, Fresh: true},
	})
	clitest.Flags(t, newAnswerCmd, func(o *answerOptions) answerOptions { return answerOptions{Answer: o.Answer, Ask: o.Ask} }, map[string]answerOptions{
		"api":         {Answer: commands.Answer{Node: "api"}, Ask: true},
		"api the 2nd": {Answer: commands.Answer{Node: "api", Text: "the 2nd"}},
	})
	clitest.Flags(t, newStopCmd, func(o *stopOptions) string { return o.Node }, map[string]string{"": "", "api": "api"})
	for _, c := range []func(*cli.Deps, func(context.Context, *decideOptions) error) *cobra.Command{newApproveCmd, newOverrideCmd, newReleaseCmd} {
		clitest.Flags(t, c, func(o *decideOptions) string { return o.Node }, map[string]string{"api": "api"})
		if o, err := clitest.Parsed(c, ""); err == nil || o != nil {
			t.Errorf("without a name: %v, %v", o, err)
		}
	}
}

func TestWorkOptions(t *testing.T) {
	node := func(want string) map[string]string { return map[string]string{want: want} }
	clitest.Flags(t, newVerifyCmd, func(o *verifyOptions) string { return o.Node }, node("api"))
	clitest.Flags(t, newWaitCmd, func(o *waitOptions) runs.Wait { return o.Wait }, map[string]runs.Wait{
		"": {}, "api --timeout 90s": {Node: "api", Timeout: 90 * time.Second},
	})
	clitest.Flags(t, newLogsCmd, func(o *logsOptions) logsOptions { return logsOptions{Log: o.Log, Raw: o.Raw} }, map[string]logsOptions{
		"api -f":                  {Log: logs.Log{Node: "api", Follow: true}},
		"a-run api -n 3 --prompt": {Log: logs.Log{Run: "a-run", Node: "api", Tail: 3, Prompt: true}},
		"api --json --raw":        {Log: logs.Log{Node: "api", Events: true}, Raw: true},
	})
	clitest.Flags(t, newDiffCmd, func(o *diffOptions) diffOptions { return diffOptions{Node: o.Node, Raw: o.Raw} }, map[string]diffOptions{
		"api": {Node: "api"}, "--raw api": {Node: "api", Raw: true},
	})
	clitest.Flags(t, newMergeCmd, func(o *mergeOptions) merging.Merge { return o.Merge }, map[string]merging.Merge{
		"": {}, "--into main --tips": {Into: "main", Tips: true}, "--continue": {Continue: true}, "--abort": {Abort: true},
	})
	if o, err := clitest.Parsed(newMergeCmd, "--continue --abort"); err == nil || o != nil {
		t.Errorf("to go on and to give up: %v, %v", o, err)
	}
	clitest.Flags(t, newCleanupCmd, func(o *cleanupOptions) cleanupOptions {
		return cleanupOptions{Yes: o.Yes, Runs: o.Runs, Keep: o.Keep}
	}, map[string]cleanupOptions{"": {Keep: 5}, "-y": {Yes: true, Keep: 5}})
	clitest.Flags(t, newResumeCmd, func(o *resumeOptions) resumeOptions {
		return resumeOptions{Update: o.Update, Yes: o.Yes, Detach: o.Detach}
	}, map[string]resumeOptions{"": {}, "--update --yes --detach": {Update: true, Yes: true, Detach: true}})
	clitest.Flags(t, newUpdateCmd, func(o *resumeOptions) resumeOptions {
		return resumeOptions{Update: o.Update, Yes: o.Yes, Detach: o.Detach}
	}, map[string]resumeOptions{"": {Update: true}, "-y --detach": {Update: true, Yes: true, Detach: true}})
	clitest.Flags(t, newChangelogCmd, func(o *changelogOptions) remains.Changelog { return o.Changelog }, map[string]remains.Changelog{"": {}, "a-run": {Run: "a-run"}})
	clitest.Flags(t, newSharedCmd, func(o *sharedOptions) sharedOptions {
		return sharedOptions{Restore: o.Restore, Accept: o.Accept, JSON: o.JSON, From: o.From}
	}, map[string]sharedOptions{"--json": {JSON: true}, "--accept": {Accept: true}, "--restore --from f": {Restore: true, From: "f"}})
}

func TestAttachOptions(t *testing.T) {
	clitest.Flags(t, newAttachCmd, func(o *attachOptions) attachOptions { return attachOptions{Attach: o.Attach, Yes: o.Yes} }, map[string]attachOptions{
		"": {}, "api --yes": {Attach: terminals.Attach{Node: "api"}, Yes: true}, "--pane api": {Attach: terminals.Attach{Node: "api", Pane: true}},
	})
}

func TestShowOptions(t *testing.T) {
	clitest.Flags(t, newStatusCmd, func(o *statusOptions) [3]bool { return [3]bool{o.JSON, o.Watch, o.Verbose} }, map[string][3]bool{
		"": {}, "--json": {true, false, false}, "--watch": {false, true, false}, "-v": {false, false, true},
	})
	for _, line := range []string{"--json --watch", "--json --verbose", "a-run another"} {
		if o, err := clitest.Parsed(newStatusCmd, line); err == nil || o != nil {
			t.Errorf("%q: %v, %v", line, o, err)
		}
	}
	clitest.Flags(t, newStatusCmd, func(o *statusOptions) string { return o.Run }, map[string]string{"": "", "a-run": "a-run"})
	clitest.Flags(t, newListCmd, func(o *listOptions) bool { return o.JSON }, map[string]bool{"": false, "--json": true})
	clitest.Flags(t, newSnapshotsListCmd, func(o *snapshotsListOptions) bool { return o.JSON }, map[string]bool{"": false, "--json": true})
	clitest.Flags(t, newSnapshotsRestoreCmd, func(o *snapshotsRestoreOptions) remains.Restore { return o.Restore }, map[string]remains.Restore{
		"api": {Snapshot: "api"}, "api --to ../x --branch y": {Snapshot: "api", To: "../x", Branch: "y"},
	})
}

func TestStartOptions(t *testing.T) {
	clitest.Flags(t, newStartCmd, func(o *startOptions) startOptions {
		return startOptions{Start: o.Start, Yes: o.Yes, Detach: o.Detach}
	}, map[string]startOptions{
		"":                     {},
		"-y --detach":          {Yes: true, Detach: true},
		"--dry-run --headless": {Start: commands.Start{Dry: true, Headless: true}},
		"--config f --base b":  {Start: commands.Start{Config: "f", Base: "b"}},
		"--new --fresh":        {Start: commands.Start{New: true, Fresh: true}},
	})
}

func TestGraphOptions(t *testing.T) {
	clitest.Flags(t, newGraphCmd, func(o *graphOptions) [2]string { return [2]string{o.Config, o.Format} }, map[string][2]string{
		"": {"", "text"}, "--config f --format dot": {"f", "dot"},
	})
}
