package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

// printJSON writes v as indented JSON and a newline.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON of a stable shape")
}
