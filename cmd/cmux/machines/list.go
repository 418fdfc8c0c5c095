package machines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/machines"
	"cmux/agents/far"
	"cmux/cmd/cmux/cli"
	"cmux/worktree/hint"
)

type listOptions struct {
	*cli.IO
	On   []string
	JSON bool
}

func newListCmd(d *cli.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{IO: &d.IO}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the machines that you have named, from home",
		Long: `Ask the machines of --on, of the variable CMUX_ON or of on: in your own settings what they
offer: labels, agents that are ready, slots. A machine that does not answer within 10
seconds is listed with the reason. The exit code is 1 if none answers.`,
		Example: "  cmux machines list --on ssh://box",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runList)(cmd.Context(), o) },
	}
	cmd.Flags().StringArrayVar(&o.On, "on", nil, "machine: ssh://[USER@]HOST[:PORT] (repeatable; default: $CMUX_ON, or on: of your settings)")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return cmd
}

var listColumns = []cli.Column{{Head: "MACHINE"}, {Head: "STATE", Give: 1, Least: 8}, {Head: "SLOTS"}, {Head: "LABELS", Give: 2, Least: 8}, {Head: "AGENTS", Give: 3, Least: 8}, {Head: "CMUX", Give: 4, Least: 6}}

func runList(ctx context.Context, o *listOptions) error {
	on, err := machines.On(o.On, o.Getenv)
	if err != nil {
		return err
	}
	if len(on) == 0 {
		return hint.New(errors.New("no machine is named"), "cmux machines list --on ssh://HOST, or on: [ssh://HOST] in ~/.config/cmux/config.yml")
	}
	all, err := machines.List(ctx, on, o.Getenv)
	if err != nil {
		return err
	}
	reached := slices.ContainsFunc(all, func(m far.Machine) bool { return m.Fault == "" })
	if o.JSON {
		b, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%s\n", b)
	} else {
		rows := make([][]string, len(all))
		for i := range all {
			rows[i] = row(&all[i])
		}
		fmt.Fprint(o.Out, cli.Table(listColumns, rows, o.Width(), o.Color()))
	}
	if !reached {
		return cli.Silent(errors.New("no machine answers"))
	}
	return nil
}

func row(m *far.Machine) []string {
	if m.Fault != "" {
		return []string{cmp.Or(m.Name, m.Where), m.Fault, "-", "-", "-", "-"}
	}
	var ready []string
	for _, kind := range slices.Sorted(maps.Keys(m.Agents)) {
		if m.Agents[kind] == "" {
			ready = append(ready, kind)
		}
	}
	return []string{m.Name, cmp.Or(m.Hinders(), "ready"), fmt.Sprintf("%d of %d busy", m.Busy, m.Slots), cli.OrDash(strings.Join(m.Labels, " ")), cli.OrDash(strings.Join(ready, " ")), m.Cmux}
}
