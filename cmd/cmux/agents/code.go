package agents

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"cmux/agents/control/commands"
	"cmux/agents/runs/origin"
	"cmux/worktree/hint"
)

// typeCode shows a code in the terminal of the person who opens a gate, there
// and nowhere else, and has it typed there. Without an error, it was.
func typeCode(ctx context.Context, g *commands.Opening) error {
	tty, err := origin.Terminal()
	switch {
	case errors.Is(err, origin.ErrNoTerminal), errors.Is(err, origin.ErrPrograms):
		return g.Refuse(fmt.Errorf("%s asks for a code in your own terminal, but %w; the gate stays closed", g.Gate, err))
	case err != nil:
		return fmt.Errorf("%s asks for a code in your own terminal: %w; the gate stays closed", g.Gate, err)
	}
	defer tty.Close()
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return err
	}
	code := fmt.Sprintf("%06d", n)
	if _, err := io.WriteString(tty, g.String()+fmt.Sprintf("Type %s to open it, or Enter to leave it closed: ", code)); err != nil {
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
			return hint.New(fmt.Errorf("no code was typed: gate %s stays closed", g.Gate), g.Order+", which shows another")
		}
		return hint.New(fmt.Errorf("wrong code: gate %s stays closed", g.Gate), g.Order+", which shows another")
	case <-ctx.Done():
		fmt.Fprintln(tty)
		return ctx.Err()
	}
}
