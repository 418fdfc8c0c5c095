package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/agents/control/locking"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/say"
)

// PrintJSON writes v as indented JSON and a newline.
func PrintJSON(w io.Writer, v any) error {
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

// JSONFlag adds the flag --json to cmd.
func JSONFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON of a stable shape")
}

// PrintLine writes v as a line of JSON.
func PrintLine(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(harmless.JSON(b.Bytes()))
	return err
}

// TellNote says why an order has not been carried out yet.
func (s *IO) TellNote(t commands.Taken) {
	if t.Note != "" {
		fmt.Fprintln(s.Err, t.Note)
	}
}

// TellTaken says what an order came to, or that it waits.
func (s *IO) TellTaken(node, said string, t commands.Taken) error {
	s.TellNote(t)
	if !t.Done {
		said = "waits to be " + said
	}
	_, err := fmt.Fprintf(s.Out, "%s: %s\n", node, said)
	return err
}

// RenderLocks is a line about each lock.
func RenderLocks(all []locking.LockReport, now time.Time) string {
	var b strings.Builder
	for _, k := range all {
		fmt.Fprintf(&b, "lock %s: ", k.Name)
		if k.Holder == nil {
			b.WriteString("goes to the next")
		} else {
			b.WriteString(k.Holder.Who)
			if k.Holder.PID > 0 {
				fmt.Fprintf(&b, " (process %d)", k.Holder.PID)
			}
			b.WriteString(" for " + say.Span(now.Sub(*k.Since)))
		}
		if k.Note != "" {
			b.WriteString(": " + say.Line(k.Note))
		}
		var names []string
		for _, w := range k.Waiting {
			names = append(names, w.Who)
		}
		if len(names) > 0 {
			b.WriteString("; waiting: " + say.List(names, 5))
		}
		b.WriteString("\n")
	}
	return b.String()
}
