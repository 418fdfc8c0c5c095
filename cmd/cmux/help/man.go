package help

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewManCmd builds cmux man, for who packages cmux. The pages bear the date that
// SOURCE_DATE_EPOCH says.
func NewManCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Hidden: true,
		Short:  "Write a man page of each command into a folder",
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			date := time.Now()
			if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
				s, err := strconv.ParseInt(epoch, 10, 64)
				if err != nil {
					return fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds: %q", epoch)
				}
				date = time.Unix(s, 0)
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeManTree(cmd.Root(), args[0], date.UTC())
		},
	}
}

// writeManTree writes the page of a command and of all below it that people see.
func writeManTree(cmd *cobra.Command, dir string, date time.Time) error {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			if err := writeManTree(c, dir, date); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd, date)), 0o644)
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage is the man page of a command. The library that cobra has for it goes by
// way of Markdown, whose reader every process of cmux would set up, each hook and
// each wrapper too.
func manPage(cmd *cobra.Command, date time.Time) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q \"1\" %q %q \"cmux\"\n", strings.ToUpper(manName(cmd)), date.Format("Jan 2006"), "cmux "+cmd.Root().Version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fP\n", roff(cmd.UseLine()))
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	b.WriteString(".SH DESCRIPTION\n" + manText(text))
	manFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(&b, "OPTIONS INHERITED FROM PARENT COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLE\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, manName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			also = append(also, manName(c))
		}
	}
	for i, name := range also {
		also[i] = `\fB` + roff(name) + `\fP(1)`
	}
	if len(also) > 0 {
		b.WriteString(".SH SEE ALSO\n" + strings.Join(also, ", ") + "\n")
	}
	return b.String()
}

// manText is a help text. Lines that begin with a space keep their shape.
func manText(text string) string {
	var b strings.Builder
	shaped := false
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if is := strings.HasPrefix(line, " "); is != shaped {
			if shaped = is; is {
				b.WriteString(".nf\n")
			} else {
				b.WriteString(".fi\n")
			}
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if shaped {
		b.WriteString(".fi\n")
	}
	return b.String()
}

func manFlags(b *strings.Builder, head string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", head)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, `\fB\-%s\fP, `, roff(f.Shorthand))
		}
		value, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, `\fB\-\-%s\fP`, roff(f.Name))
		if value != "" {
			fmt.Fprintf(b, ` \fI%s\fP`, roff(value))
		}
		fmt.Fprintf(b, "\n%s\n", roff(usage))
	})
}

// roff escapes text so that the formatter shows it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
