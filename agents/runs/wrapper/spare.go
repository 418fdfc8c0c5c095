package wrapper

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Word is the line that a spare wrapper waits for: it says which attempt it is
// to carry out.
func Word(node string, attempt int) string { return fmt.Sprintf("%d %s", attempt, node) }

// await waits at the terminal for the word, which must not be seen there. Until
// then nobody knows this process: the end of its terminal ends it.
func (o *Options) await() error {
	fd := int(o.In.Fd())
	if saved, err := quiet(fd); err == nil {
		defer term.Restore(fd, saved)
	}
	line, err := bufio.NewReaderSize(io.LimitReader(o.In, 4096), 256).ReadString('\n')
	if err != nil {
		return fmt.Errorf("a spare wrapper was not told what to do: %w", err)
	}
	text, node, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	n, err := strconv.Atoi(text)
	if err != nil || node == "" {
		return fmt.Errorf("a spare wrapper was told %q, not an attempt", line)
	}
	o.Node, o.Attempt = node, n
	// The terminal showed it where it came before this process was ready.
	_, err = io.WriteString(o.Out, wipe)
	return err
}

// wipe clears the terminal and what scrolled out of it.
const wipe = "\x1b[H\x1b[2J\x1b[3J"

// quiet has the terminal take lines without showing them, and returns how it was.
func quiet(fd int) (*term.State, error) {
	saved, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	t, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	t.Lflag &^= unix.ECHO
	return saved, unix.IoctlSetTermios(fd, setTermios, t)
}

// enter goes to where the attempt works: a spare was started elsewhere.
func (o Options) enter(dir string) error {
	if !o.Spare {
		return nil
	}
	return os.Chdir(dir)
}
