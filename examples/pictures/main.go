// Command pictures makes an SVG of a terminal's screen, as tmux prints it with
// capture-pane -e: text and its colors, one cell a character. It reads the
// screen from its input and writes the picture to its output. It replaces times
// and ids, so that two runs make the same picture.
//
//	pictures -cols 120 -title "cmux agents top" < screen.ansi > top.svg
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	cols := flag.Int("cols", 0, "columns of the screen (default: those of the longest line)")
	title := flag.String("title", "", "text above the screen")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *title, *cols); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, title string, cols int) error {
	b, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	w.WriteString(draw(title, constant(screen(strings.TrimRight(string(b), "\n"))), cols))
	return w.Flush()
}
