package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"cmux/agents/harmless"
	"cmux/agents/origin"
	"cmux/agents/run"
)

// typeCode shows a code in the terminal of the person who gives the order op
// for the gate i, there and nowhere else, and has it typed there. Without an
// error, it was.
func (d *Deps) typeCode(ctx context.Context, v *run.View, i int, op run.Op) error {
	name := v.Nodes[i].Spec.Name
	order := "cmux agents " + string(op) + " " + name
	tty, err := origin.Terminal()
	switch {
	case errors.Is(err, origin.ErrNoTerminal), errors.Is(err, origin.ErrPrograms):
		return &Hint{Err: fmt.Errorf("%s asks for a code in a terminal of yours, and %w; it stays closed", name, err),
			Try: order + ", in a terminal that no agent can type in: no pane of cmux's tmux server"}
	case err != nil:
		return fmt.Errorf("%s asks for a code in a terminal of yours: %w; it stays closed", name, err)
	}
	defer tty.Close()
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return err
	}
	code := fmt.Sprintf("%06d", n)
	if _, err := io.WriteString(tty, whatOpens(v, i)+fmt.Sprintf("Type %s to open it, or Enter to leave it closed: ", code)); err != nil {
		return err
	}
	typed := make(chan string, 1)
	go func() { // ends with the terminal's next line; a signal ends the process
		line, _ := bufio.NewReader(tty).ReadString('\n') // what it is worth is seen from what it holds
		typed <- strings.TrimSpace(line)
	}()
	select {
	case line := <-typed:
		switch line {
		case code:
			return nil
		case "":
			return &Hint{Err: fmt.Errorf("no code was typed: %s stays closed", name), Try: order + ", which shows another"}
		}
		return &Hint{Err: fmt.Errorf("that is not the code: %s stays closed", name), Try: order + ", which shows another"}
	case <-ctx.Done():
		fmt.Fprintln(tty)
		return ctx.Err()
	}
}

// maxShown bounds how many nodes on each side of a gate are named.
const maxShown = 20

// whatOpens says for a person what is before and behind gate i.
func whatOpens(v *run.View, i int) string {
	g := v.Run.Plan.Graph
	var b strings.Builder
	fmt.Fprintf(&b, "gate %s of run %s, session %s, in %s\n", v.Nodes[i].Spec.Name, v.Run.Plan.ID, g.Session, harmless.Line(v.Run.Plan.Root))
	list := func(how string, nodes []int) {
		for k, j := range nodes {
			if k == maxShown {
				fmt.Fprintf(&b, "  %s %d more\n", how, len(nodes)-k)
				return
			}
			n := &v.Nodes[j]
			fmt.Fprintf(&b, "  %s %s: %s", how, n.Spec.Name, n.Status.Label)
			if n.Tip != "" {
				fmt.Fprintf(&b, ", %s at %.12s", harmless.Line(n.Spec.Branch), n.Tip)
			}
			b.WriteByte('\n')
		}
	}
	list("after", g.Deps(i))
	list("before", g.Dependents(i))
	return b.String()
}
