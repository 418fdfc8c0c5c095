package main

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
)

// IO is what a command reads from and writes to, and the environment it is in.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string
}

// projectFunc finds the project that a command was called in.
type projectFunc func(context.Context) (*control.Project, error)

// asked asks the project something, and prints the answer where it is wanted as JSON.
// done says that this is all, or that err keeps the command from more.
func asked[T any](ctx context.Context, out *IO, project projectFunc, asJSON bool, ask func(*control.Project) (T, error)) (p *control.Project, answer T, done bool, err error) {
	if p, err = project(ctx); err != nil {
		return nil, answer, true, err
	}
	if answer, err = ask(p); err != nil {
		return p, answer, true, err
	}
	if asJSON {
		return p, answer, true, printJSON(out.Out, answer)
	}
	return p, answer, false, nil
}

// either is what a command does: f, which a test puts in its place, or its own.
func either[O any](f, own func(context.Context, O) error) func(context.Context, O) error {
	if f != nil {
		return f
	}
	return own
}

// Getenv is the value of an environment variable, the last one standing.
func (s *IO) Getenv(key string) string { return project.Caller{Env: s.Env}.Getenv(key) }

// interactive reports whether a person can be asked: both ends are terminals.
func (s *IO) interactive() bool { return isTerminal(s.In) && isTerminal(s.Out) }

func isTerminal(stream any) bool {
	f, ok := terminal(stream)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the width of the terminal on stdout, or 0 if stdout is no terminal.
func (s *IO) width() int {
	if f, ok := terminal(s.Out); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

// color reports whether stdout is to be colored.
func (s *IO) color() bool { return s.colored(s.Out) }

// colored reports whether what is written to an output may be colored.
func (s *IO) colored(out io.Writer) bool {
	return isTerminal(out) && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// errDeclined says that a person who was asked said no.
var errDeclined = errors.New("declined")

// confirm asks a person whether to go on. The errors are errDeclined, and one
// of usage where nobody can be asked.
func (s *IO) confirm(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	if !isTerminal(s.In) {
		return project.Usage("the same with --yes", "there is no terminal to ask on: %s", question)
	}
	ok, err := s.askYes(ctx, question, false)
	if err == nil && !ok {
		fmt.Fprintln(s.Err, "Nothing was done.")
		err = silent(errDeclined)
	}
	return err
}

// askYes asks a person on the terminal for a yes or a no; def is what Enter
// alone means, and what anything else that is neither counts as is no.
func (s *IO) askYes(ctx context.Context, question string, def bool) (bool, error) {
	offer := "[y/N]"
	if def {
		offer = "[Y/n]"
	}
	answer, ok, err := s.askLine(ctx, question+" "+offer+" ")
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, err
	case "":
		return def && ok, err // the end of the input is no answer
	}
	return false, err
}

// askLine asks a person on the terminal for a line. ok says whether one came:
// the end of the input is none.
func (s *IO) askLine(ctx context.Context, question string) (text string, ok bool, err error) {
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

// show shows a session in this terminal until the person leaves it.
func (s *IO) show(ctx context.Context, p *control.Project, offer *control.Offer) error {
	argv, err := p.Show(ctx, offer, s.Getenv("TMUX"), s.interactive())
	if err != nil {
		return err
	}
	return s.inTerminal(argv)
}

// inTerminal runs tmux in this terminal until the person leaves it.
func (s *IO) inTerminal(argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...) // not ended with ctx: it has the terminal
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Env, s.In, raw(s.Out), raw(s.Err)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tmux: %w", err)
	}
	return nil
}
