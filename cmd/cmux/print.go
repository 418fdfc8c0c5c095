package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"cmux/agents/platform/harmless"
)

// printJSON writes v as indented JSON and a newline.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(harmless.JSON(b.Bytes()))
	return err
}

func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON of a stable shape")
}

// printLine writes v as a line of JSON.
func printLine(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(harmless.JSON(b.Bytes()))
	return err
}
