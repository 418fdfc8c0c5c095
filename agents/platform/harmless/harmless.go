// Package harmless makes text from agents, tasks, programs and repositories safe to
// display: a terminal executes nothing in it, and it cannot imitate other output.
//
// It removes whole escape sequences, which could move the cursor, set the clipboard or the
// title, or type answers. Plain color sequences can be kept. It removes other control
// characters, replaces a carriage return within a line by a space, and shows characters
// that reorder or hide text by their numbers, such as <U+202E>. Invalid UTF-8, which some
// terminals execute, becomes U+FFFD.
package harmless

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Text returns s made safe, without colors.
func Text(s string) string { return Styled(s, false) }

// Line returns Text on a single line, trimmed.
func Line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, Text(s)))
}

// Styled returns s made safe, with its colors if colors is true.
func Styled(s string, colors bool) string {
	if allShown(s) {
		return s
	}
	var b strings.Builder
	w := NewWriter(&b, colors)
	io.WriteString(w, s)
	w.Flush()
	return b.String()
}

// allShown reports whether a text is printable ASCII, as nearly all names and states are: a
// fast path for tables with thousands of them.
func allShown(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// JSON returns a JSON text with the same value, in which unsafe characters of strings are
// escaped.
func JSON(b []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r >= utf8.RuneSelf && kind(r) != shown {
			out = append(out, b[from:i]...)
			if r > 0xffff {
				r -= 0x10000
				out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			from = i + n
		} else if b[i] == 0x7f {
			out, from = append(append(out, b[from:i]...), `\u007f`...), i+1
		}
		i += n
	}
	if from == 0 {
		return b
	}
	return append(out, b[from:]...)
}

// kinds of characters.
const (
	shown    = iota
	dropped  // a control character
	spaced   // a line or page separator
	numbered // reorders or hides text
)

func kind(r rune) int {
	switch {
	case r == '\n' || r == '\t':
		return shown
	case r == '\v' || r == '\f' || r == 0x2028 || r == 0x2029 || r == 0x85:
		return spaced
	case r < ' ' || 0x7f <= r && r < 0xa0:
		return dropped
	case r == 0xad || r == 0x34f || r == 0x61c || r == 0x180e || r == 0x200b || r == 0x200e || r == 0x200f || r == 0xfeff || 0x2060 <= r && r <= 0x2065,
		0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069, 0xe0000 <= r && r <= 0xe007f, 0xfff9 <= r && r <= 0xfffb:
		return numbered
	}
	return shown
}

// Writer makes the text that passes through it safe. An incomplete sequence or character
// waits for the rest. It is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	colors bool
	state  int
	held   []byte // an incomplete character or color sequence
	styled bool   // a color is on
	out    []byte
}

// NewWriter returns a Writer to w. With colors, it keeps plain styles: bold, faint, italic,
// underlined, struck out, reversed, and colors of text and background, each until the end
// of the line at most.
func NewWriter(w io.Writer, colors bool) *Writer { return &Writer{w: w, colors: colors} }

// states of a Writer.
const (
	ground    = iota
	escape    // after ESC
	interm    // in ESC with intermediate bytes
	control   // in a control sequence (CSI); held has its parameters from on
	command   // in a string for the terminal (OSC, DCS, SOS, PM, APC)
	commandST // in such a string, after ESC
	carriage  // after a carriage return
)

const maxParameters = 64 // bytes of a color sequence; longer ones are dropped

func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = w.out[:0]
	for i := 0; i < len(p); {
		i += w.take(p[i:])
	}
	if len(w.out) == 0 {
		return len(p), nil
	}
	if _, err := w.w.Write(w.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes incomplete input, because no more will follow.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = w.out[:0]
	switch {
	case w.state == ground && len(w.held) > 0:
		w.out = append(w.out, "\ufffd"...)
	case w.state == carriage:
		w.out = append(w.out, ' ')
	}
	w.reset()
	w.held, w.state = w.held[:0], ground
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.w.Write(w.out)
	return err
}

// take processes the beginning of p and returns its length.
func (w *Writer) take(p []byte) int {
	c := p[0]
	switch w.state {
	case ground:
		return w.text(p)
	case carriage:
		w.state = ground
		if c == '\n' {
			w.reset()
			w.out = append(w.out, '\r', '\n')
			return 1
		}
		if c != '\r' {
			w.out = append(w.out, ' ')
		} else {
			w.state = carriage // several in a row count as one
			return 1
		}
		return 0
	case escape:
		switch {
		case c == '[':
			w.state, w.held = control, w.held[:0]
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			w.state = command
		case 0x20 <= c && c < 0x30:
			w.state = interm
		case c == 0x1b:
		case c < 0x20 || c >= 0x7f:
			w.state = ground
			return 0
		default:
			w.state = ground
		}
		return 1
	case interm:
		if 0x20 <= c && c < 0x30 {
			return 1
		}
		w.state = ground
		if c < 0x20 || c >= 0x7f {
			return 0
		}
		return 1
	case control:
		return w.control(c)
	case command:
		return w.command(c)
	case commandST:
		w.state = escape
		if c == '\\' {
			w.state = ground
			return 1
		}
		return 0
	}
	return 1
}

// control processes a byte of a control sequence.
func (w *Writer) control(c byte) int {
	switch {
	case 0x20 <= c && c < 0x40:
		if len(w.held) <= maxParameters {
			w.held = append(w.held, c)
		}
		return 1
	case 0x40 <= c && c < 0x7f:
		if c == 'm' {
			w.style(string(w.held))
		}
		w.state, w.held = ground, w.held[:0]
		return 1
	}
	// Another character ends the sequence and is kept.
	w.state, w.held = ground, w.held[:0]
	return 0
}

// command processes a byte of a string for the terminal.
func (w *Writer) command(c byte) int {
	switch c {
	case 0x07, 0x18, 0x1a:
		w.state = ground
	case 0x1b:
		w.state = commandST
	case '\n':
		// A valid string for the terminal contains no line end. End it here, so that the
		// text after an unterminated one is not lost.
		w.state = ground
		return 0
	}
	return 1
}

// text processes the first character of p, or the available part of it.
func (w *Writer) text(p []byte) int {
	if len(w.held) == 0 {
		if c := p[0]; c < utf8.RuneSelf { // the common case
			w.ascii(c)
			return 1
		}
		if utf8.FullRune(p) {
			r, n := utf8.DecodeRune(p)
			w.rune(r)
			return n
		}
		w.held = append(w.held, p...)
		return len(p)
	}
	if utf8.RuneStart(p[0]) { // an invalid character
		w.held = w.held[:0]
		w.rune(utf8.RuneError)
		return 0
	}
	w.held = append(w.held, p[0])
	if utf8.FullRune(w.held) {
		r, n := utf8.DecodeRune(w.held)
		for range len(w.held) - n { // bytes that do not belong to it
			w.rune(utf8.RuneError)
		}
		w.held = w.held[:0]
		w.rune(r)
	}
	return 1
}

func (w *Writer) ascii(c byte) {
	switch {
	case c == 0x1b:
		w.state = escape
	case c == '\r':
		w.state = carriage
	case c == '\n':
		w.reset()
		w.out = append(w.out, c)
	case ' ' <= c && c < 0x7f || c == '\t':
		w.out = append(w.out, c)
	default:
		w.rune(rune(c))
	}
}

func (w *Writer) rune(r rune) {
	switch kind(r) {
	case shown:
		w.out = utf8.AppendRune(w.out, r)
	case spaced:
		w.out = append(w.out, ' ')
	case numbered:
		w.out = fmt.Appendf(w.out, "<U+%04X>", r)
	default:
		// The one-character forms of what ESC begins.
		switch r {
		case 0x9b:
			w.state, w.held = control, w.held[:0]
		case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
			w.state = command
		}
	}
}

// style keeps a color sequence if it is plain.
func (w *Writer) style(parameters string) {
	if !w.colors || !plain(parameters) {
		return
	}
	w.out = append(append(append(w.out, "\x1b["...), parameters...), 'm')
	w.styled = strings.Trim(parameters, "0;") != ""
}

// plain reports whether the parameters of a color sequence neither hide text nor make it
// blink.
func plain(parameters string) bool {
	if len(parameters) > maxParameters || strings.Trim(parameters, "0123456789;") != "" {
		return false
	}
	all := strings.Split(parameters, ";")
	for i := 0; i < len(all); i++ {
		switch n, _ := strconv.Atoi("0" + all[i]); {
		case n == 38 || n == 48: // a color by number, or by its parts
			if i+1 < len(all) && all[i+1] == "5" {
				i += 2
			} else if i+1 < len(all) && all[i+1] == "2" {
				i += 4
			} else {
				return false
			}
			if i >= len(all) {
				return false
			}
		case n <= 4, n == 7, n == 9, 22 <= n && n <= 24, n == 27, n == 29, 30 <= n && n <= 49, 90 <= n && n <= 107:
		default:
			return false
		}
	}
	return true
}

// reset ends the current color.
func (w *Writer) reset() {
	if w.styled {
		w.out = append(w.out, "\x1b[0m"...)
		w.styled = false
	}
}
