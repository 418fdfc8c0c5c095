package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"golang.org/x/term"

	"cmux/agents/control"
	"cmux/agents/control/project"
	"cmux/agents/control/terminals"
)

// IO is what a command reads from and writes to, and the environment it is in.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string
}

// ProjectFunc finds the project that a command was called in.
type ProjectFunc func(context.Context) (*control.Project, error)

// Asked asks the project something, and prints the answer where it is wanted as JSON.
// done says that this is all, or that err keeps the command from more.
func Asked[T any](ctx context.Context, out *IO, project ProjectFunc, asJSON bool, ask func(*control.Project) (T, error)) (p *control.Project, answer T, done bool, err error) {
	if p, err = project(ctx); err != nil {
		return nil, answer, true, err
	}
	if answer, err = ask(p); err != nil {
		return p, answer, true, err
	}
	if asJSON {
		return p, answer, true, PrintJSON(out.Out, answer)
	}
	return p, answer, false, nil
}

// Either is what a command does: f, which a test puts in its place, or its own.
func Either[O any](f, own func(context.Context, O) error) func(context.Context, O) error {
	if f != nil {
		return f
	}
	return own
}

// Getenv is the value of an environment variable, the last one standing.
func (s *IO) Getenv(key string) string { return project.Caller{Env: s.Env}.Getenv(key) }

// Interactive reports whether a person can be asked: both ends are terminals.
func (s *IO) Interactive() bool { return IsTerminal(s.In) && IsTerminal(s.Out) }

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := Terminal(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the width of the terminal on stdout, or 0 if stdout is no terminal.
func (s *IO) Width() int {
	if f, ok := Terminal(s.Out); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

// Color reports whether stdout is to be colored.
func (s *IO) Color() bool { return s.colored(s.Out) }

// colored reports whether what is written to an output may be colored.
func (s *IO) colored(out io.Writer) bool {
	return IsTerminal(out) && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// ErrDeclined says that a person who was asked said no.
var ErrDeclined = errors.New("declined")

// Confirm asks a person whether to go on. The errors are ErrDeclined, and one
// of usage where nobody can be asked.
func (s *IO) Confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if !IsTerminal(s.In) {
		return project.Usage("the same with --yes", "there is no terminal to ask on: %s", question)
	}
	ok, err := s.AskYes(ctx, question, false)
	if err == nil && !ok {
		fmt.Fprintln(s.Err, "Nothing was done.")
		err = Silent(ErrDeclined)
	}
	return err
}

// AskYes asks a person on the terminal for a yes or a no; def is what Enter
// alone means, and what anything else that is neither counts as is no.
func (s *IO) AskYes(ctx context.Context, question string, def bool) (bool, error) {
	offer := "[y/N]"
	if def {
		offer = "[Y/n]"
	}
	answer, ok, err := s.AskLine(ctx, question+" "+offer+" ")
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, err
	case "":
		return def && ok, err // the end of the input is no answer
	}
	return false, err
}

// AskLine asks a person on the terminal for a line. ok says whether one came:
// the end of the input is none.
func (s *IO) AskLine(ctx context.Context, question string) (text string, ok bool, err error) {
	fmt.Fprint(s.Err, question)
	type read struct {
		text string
		err  error
	}
	answer := make(chan read, 1)
	go func() { // ends with the terminal's next line; a signal ends the process
		line, err := bufio.NewReader(s.In).ReadString('\n')
		answer <- read{line, err}
	}()
	select {
	case a := <-answer:
		return strings.TrimRight(a.text, "\r\n"), a.err == nil || a.text != "", nil
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return "", false, ctx.Err()
	}
}

// ShowSession shows a session in this terminal until the person leaves it.
func (s *IO) ShowSession(ctx context.Context, p *control.Project, offer *terminals.Offer) error {
	argv, err := p.Terminals().Show(ctx, offer, s.Getenv("TMUX"), s.Interactive())
	if err != nil {
		return err
	}
	return s.InTerminal(argv)
}

// InTerminal runs tmux in this terminal until the person leaves it.
func (s *IO) InTerminal(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...) // not ended with ctx: it has the terminal
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Env, s.In, Raw(s.Out), Raw(s.Err)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tmux: %w", err)
	}
	return nil
}
