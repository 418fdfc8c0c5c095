package cli

import (
	"context"
	"io"
	"slices"

	"cmux/agents/kinds/rights"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/wrapper"
)

// maxGiven bounds what goes along with an order from standard input.
const maxGiven = 4 << 20

// Outside gives an order through the agent's wrapper, where the command was called in the
// fence of a standing agent: there it could not write what belongs to cmux. ok is false
// where the command itself has to carry it out.
func (d *Deps) Outside(ctx context.Context, words []string) (code int, ok bool, err error) {
	if d.Getenv(attempt.FencedVar) == "" || d.Getenv("CMUX_SOCKET") == "" {
		return 0, false, nil
	}
	p, err := d.Project(ctx)
	if err != nil || p.Root != d.Getenv("CMUX_ROOT") {
		return 0, false, nil // the command says why; another project is not the fence's
	}
	var given []byte
	if slices.Contains(words, "-") && !IsTerminal(d.In) {
		if given, err = io.ReadAll(io.LimitReader(d.In, maxGiven)); err != nil {
			return 0, false, err
		}
	}
	r, err := wrapper.Order(ctx, d.Getenv, words, string(given))
	if err != nil || r.Inside {
		return 0, false, err
	}
	_, err = io.WriteString(Raw(d.Out), r.Stdout)
	if err == nil {
		_, err = io.WriteString(Raw(d.Err), r.Text)
	}
	return r.Exit, true, err
}

// GivenOutside reports whether the order of these words is one that Outside gives.
func GivenOutside(words []string) bool { return rights.Belongs(words) }
