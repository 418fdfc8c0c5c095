package node

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/agents/runs/mcp"
	"cmux/agents/runs/wrapper"
	"cmux/cmd/cmux/cli"
)

// Cmds are the commands that agents and their programs call. version is what
// the server of tools tells of itself.
func Cmds(s *cli.IO, version string) []*cobra.Command {
	return []*cobra.Command{newDoneCmd(s), newBlockedCmd(s), newOutputCmd(s), NewHookCmd(s), newMCPCmd(s, version)}
}

func newDoneCmd(s *cli.IO) *cobra.Command {
	return &cobra.Command{
		Use:     "done SUMMARY",
		GroupID: "agent",
		Short:   "Report that the task is finished (for agents)",
		Long:    "Report that the task of this node is finished, with a summary. cmux then checks the\nwork, and sends it back if a check fails.",
		Example: "  cmux done 'Added the login form and its tests'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Outside(wrapper.Done(cmd.Context(), s.Getenv, strings.Join(args, " ")))
		},
	}
}

func newBlockedCmd(s *cli.IO) *cobra.Command {
	return &cobra.Command{
		Use:     "blocked REASON",
		GroupID: "agent",
		Short:   "Report that the task cannot be finished (for agents)",
		Example: "  cmux blocked 'The schema has two meanings of price: which one?'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Outside(wrapper.Blocked(cmd.Context(), s.Getenv, strings.Join(args, " ")))
		},
	}
}

func newOutputCmd(s *cli.IO) *cobra.Command {
	return &cobra.Command{
		Use:     "output KEY=VALUE",
		GroupID: "agent",
		Short:   "Publish a value for the nodes that depend on this one (for nodes)",
		Long: `Publish a short value under a name. The nodes that depend on this one get it in
their prompts and in the environment variable CMUX_NEEDS_NODE_KEY. A new value
replaces the old one. A value is text of at most 4 KB. It must not be a secret.`,
		Example: "  cmux output version=1.4.2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, value, ok := strings.Cut(args[0], "=")
			if !ok {
				return project.Usage("cmux output KEY=VALUE", "%q has no =", args[0])
			}
			return cli.Outside(wrapper.Output(cmd.Context(), s.Getenv, key, value))
		},
	}
}

// newMCPCmd is the server that agent programs start for their agents' reports.
func newMCPCmd(s *cli.IO, version string) *cobra.Command {
	return &cobra.Command{
		Use:     "mcp",
		GroupID: "agent",
		Short:   "Serve the tools by which agents report (for agent programs)",
		Long: `Serve the tools done, blocked, ask and output over the Model Context Protocol, on
standard input and output. cmux tells Claude Code and Codex to start this server;
you do not need to set it up.`,
		Example: "  cmux mcp",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.Getenv("CMUX_TOKEN") == "" {
				return cli.Outside(wrapper.ErrOutside)
			}
			return mcp.Serve(cmd.Context(), s.Getenv, io.NopCloser(s.In), nopCloser{cli.Raw(s.Out)}, version)
		},
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// NewHookCmd builds cmux hook.
func NewHookCmd(s *cli.IO) *cobra.Command {
	return &cobra.Command{
		Use:     "hook EVENT",
		GroupID: "agent",
		Short:   "Relay an event of an agent program to cmux (for hooks)",
		Long: `Relay an event of an agent program, with its JSON on standard input, to the
wrapper of this node, and print what it answers. It decides nothing itself.`,
		Example: "  echo '{}' | cmux hook Stop",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, code, err := wrapper.Hook(cmd.Context(), s.Getenv, args[0], s.In)
			if out != "" {
				if _, werr := io.WriteString(cli.Raw(s.Out), out); werr != nil && err == nil {
					err = werr
				}
			}
			if err != nil {
				return project.Tag(cli.Outside(err), cli.ExitStatus(code))
			}
			if code != 0 {
				return cli.Silent(cli.ExitStatus(code))
			}
			return nil
		},
	}
}
