package help

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A page shows what the help says, and nothing of that is an order to the
// formatter.
func TestManPage(t *testing.T) {
	parent := &cobra.Command{Use: "cmux", Run: func(*cobra.Command, []string) {}}
	cmd := &cobra.Command{Use: "try NAME", Short: `it's a \try`, Example: "  cmux try x\n.hidden", Run: func(*cobra.Command, []string) {},
		Long: ".start of a line\nnext\n\n  {\"a\": 1}\n  'b'\nlast"}
	cmd.Flags().StringP("file", "f", "", "read `PATH`, not -")
	cmd.Flags().Bool("inner", false, "")
	if err := cmd.Flags().MarkHidden("inner"); err != nil {
		t.Fatal(err)
	}
	parent.AddCommand(cmd)
	page := manPage(cmd, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
	for _, want := range []string{
		".TH \"CMUX-TRY\" \"1\" \"Nov 2026\" ", ".SH NAME\ncmux\\-try \\- it's a \\etry\n", "\\fBcmux try NAME [flags]\\fP\n",
		".SH DESCRIPTION\n\\&.start of a line\nnext\n.PP\n.nf\n  {\"a\": 1}\n  'b'\n.fi\nlast\n",
		".TP\n\\fB\\-f\\fP, \\fB\\-\\-file\\fP \\fIPATH\\fP\nread PATH, not \\-\n",
		".SH EXAMPLE\n.nf\n  cmux try x\n\\&.hidden\n.fi\n", ".SH SEE ALSO\n\\fBcmux\\fP(1)\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no\n%s\nin\n%s", want, page)
		}
	}
	if strings.Contains(page, "inner") {
		t.Error("a hidden flag is shown")
	}
}
