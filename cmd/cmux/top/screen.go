package top

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// screen is the terminal while the program has it. bubbletea's own renderer
// looks for something to draw many times a second, for as long as it runs: here
// lines are drawn when they change, and an idle monitor does nothing.
type screen struct {
	in, out *os.File
	state   *term.State // of the terminal before; nil: the program has it not
	lines   []string    // that stand there
	width   int
	height  int
}

// enter takes the terminal.
func (s *screen) enter() (err error) {
	if s.state, err = term.MakeRaw(int(s.in.Fd())); err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	s.lines = nil
	_, err = s.out.WriteString(ansi.SetAltScreenSaveCursorMode + ansi.ResetTextCursorEnableMode + ansi.SetBracketedPasteMode)
	return err
}

// leave gives the terminal back as it was.
func (s *screen) leave() error {
	if s.state == nil {
		return nil
	}
	_, err := s.out.WriteString(ansi.ResetBracketedPasteMode + ansi.SetTextCursorEnableMode + ansi.ResetAltScreenSaveCursorMode)
	err = errors.Join(err, term.Restore(int(s.in.Fd()), s.state))
	s.state = nil
	return err
}

// away calls f while the terminal is as it was.
func (s *screen) away(f func() error) error {
	if err := s.leave(); err != nil {
		return err
	}
	return errors.Join(f(), s.enter())
}

// size is that of the terminal.
func (s *screen) size() (width, height int, err error) { return term.GetSize(int(s.out.Fd())) }

// paint draws the lines that have changed.
func (s *screen) paint(lines []string, width, height int) error {
	b := changes(s.lines, lines, width, width != s.width || height != s.height || s.lines == nil)
	s.lines, s.width, s.height = lines, width, height
	if len(b) == 0 {
		return nil
	}
	_, err := s.out.Write(b)
	return err
}

// changes returns the bytes that turn a screen with the lines was into one with
// lines. redraw clears the screen and draws all lines.
func changes(was, lines []string, width int, redraw bool) []byte {
	var b bytes.Buffer
	if redraw {
		b.WriteString(ansi.EraseEntireScreen)
		was = nil
	}
	for i := range max(len(was), len(lines)) {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		if i < len(was) && was[i] == line || i >= len(was) && line == "" {
			continue
		}
		b.WriteString(ansi.CursorPosition(1, i+1) + line)
		if ansi.StringWidth(line) < width { // at the last column it would erase that
			b.WriteString(ansi.EraseLineRight)
		}
	}
	return b.Bytes()
}
