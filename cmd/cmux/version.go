package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"cmux/cmd/cmux/cli"
)

// version is set by the linker.
var version = ""

// build says what this program was made from.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// built is the build of this program. Without make, as by go install, the
// version is the module's.
func built() build {
	b := build{Version: version}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b.Go = info.GoVersion
		for _, set := range info.Settings {
			switch set.Key {
			case "vcs.revision":
				b.Commit = set.Value
			case "vcs.modified":
				b.Modified = set.Value == "true"
			}
		}
		if main := info.Main.Version; b.Version == "" && main != "(devel)" {
			b.Version = main
		}
	}
	if b.Version == "" {
		b.Version = "dev"
	}
	return b
}

func newVersionCmd(s *cli.IO) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		GroupID: "main",
		Short:   "Print the version of cmux",
		Example: "  cmux version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := built()
			if asJSON {
				return cli.PrintJSON(s.Out, b)
			}
			_, err := fmt.Fprintf(s.Out, "cmux %s\n", b.Version)
			return err
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}
