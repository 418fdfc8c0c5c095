package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// optTap records where a pane's output is copied to. A copy without it is not cmux's.
const optTap = "@cmux_tap"

// ErrTapped means that another program copies the pane's output (pipe-pane). A pane can
// have only one copy.
var ErrTapped = errors.New("another program has its output copied (tmux pipe-pane)")

// Screen is the content of a pane.
type Screen struct {
	Width, Height int
	Dead          bool // its process has ended
	InMode        bool // keys do not reach the program: see [Pane.InMode]
	PID           int
	Tap           string // where cmux copies its output to; empty: nowhere

	// Text makes a terminal of this size show the same content. tmux clients cannot know
	// the colors of the program's next output, nor whether the program asked for bracketed
	// paste: see [Client.Paste].
	Text []byte
}

// lookFormat is the format of Look.
const lookFormat = "#{pane_width} #{pane_height} #{pane_dead} #{pane_in_mode} #{pane_pid} #{pane_pipe} #{" + optTap + "}"

// Look returns the screen without its text.
func (c *Client) Look(ctx context.Context, p PaneID) (Screen, error) {
	s, _, err := c.look(ctx, p)
	return s, err
}

func (c *Client) look(ctx context.Context, p PaneID) (s Screen, piped bool, err error) {
	out, err := c.Run(ctx, "display-message", "-p", "-t", string(p), lookFormat)
	if err != nil {
		return s, false, err
	}
	f := strings.SplitN(out, " ", 7)
	if len(f) != 7 || f[0] == "" {
		return s, false, &CommandError{"display-message", "can't find pane: " + string(p)}
	}
	n, err := numbers(f[:6])
	if err != nil {
		return s, false, err
	}
	s = Screen{Width: n[0], Height: n[1], Dead: n[2] == 1, InMode: n[3] > 0, PID: n[4]}
	if piped = n[5] == 1; piped {
		s.Tap = f[6]
	}
	return s, piped, nil
}

func numbers(fields []string) ([]int, error) {
	n := make([]int, len(fields))
	for i, f := range fields {
		if f == "" {
			continue
		}
		var err error
		if n[i], err = strconv.Atoi(f); err != nil {
			return nil, fmt.Errorf("tmux display-message: cannot read %q", fields)
		}
	}
	return n, nil
}

// modesFormat is the format of a screen's modes.
const modesFormat = "#{cursor_x} #{cursor_y} #{history_size} #{alternate_on} #{alternate_saved_x} #{alternate_saved_y} " +
	"#{scroll_region_upper} #{scroll_region_lower} #{origin_flag} #{insert_flag} #{keypad_cursor_flag} #{keypad_flag} " +
	"#{wrap_flag} #{cursor_flag} #{mouse_standard_flag} #{mouse_button_flag} #{mouse_all_flag} #{mouse_sgr_flag}"

// Tap makes tmux copy a pane's output from now on to a named pipe, and returns the screen
// at this moment, with up to history lines that scrolled away: both together are the
// complete output, without repetition. It ends an earlier Tap. If another program copies
// the pane's output, the error is ErrTapped.
//
// The pane is not affected: no client attaches, and its size stays.
func (c *Client) Tap(ctx context.Context, p PaneID, file string, history int) (Screen, error) {
	s, piped, err := c.look(ctx, p)
	if err != nil {
		return s, err
	}
	if piped && s.Tap == "" {
		return s, ErrTapped
	}
	at := string(p)
	// tmux answers before the shell starts. If the pipe is gone by then, the shell must not
	// create a file to which cat would write all of the pane's output.
	quoted := "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	copying := "[ -p " + quoted + " ] && exec cat >" + quoted
	// tmux reads output between two lines of commands, not within one.
	out, err := c.sequence(ctx,
		[]string{"pipe-pane", "-t", at},
		[]string{"set-option", "-p", "-t", at, "--", optTap, file},
		[]string{"pipe-pane", "-O", "-t", at, "--", strings.ReplaceAll(formatLiteral(copying), "%", "%%")},
		[]string{"display-message", "-p", "-t", at, lookFormat},
		[]string{"display-message", "-p", "-t", at, modesFormat},
		[]string{"capture-pane", "-p", "-e", "-t", at, "-S", strconv.Itoa(-history), "-E", "-1"},
		[]string{"capture-pane", "-p", "-e", "-a", "-q", "-t", at},
		[]string{"capture-pane", "-p", "-e", "-t", at},
		[]string{"capture-pane", "-p", "-P", "-C", "-t", at})
	if err != nil {
		return s, err
	}
	n, err := numbers(strings.Fields(out[3])[:5])
	if err != nil {
		return s, err
	}
	s = Screen{Width: n[0], Height: n[1], Dead: n[2] == 1, InMode: n[3] > 0, PID: n[4], Tap: file}
	m, err := numbers(strings.Split(out[4], " "))
	if err != nil || len(m) != 18 {
		return s, fmt.Errorf("tmux display-message: cannot read %q: %w", out[4], err)
	}
	s.Text = draw(m, s.Width, s.Height, out[5], out[6], out[7], unescape(out[8]))
	return s, nil
}

// draw returns the text that makes a terminal show a pane: modes in modesFormat, lines that
// scrolled away, the lines behind the alternate screen, the visible lines, and the
// beginning of an incomplete sequence of the program.
func draw(m []int, width, height int, history, behind, seen, begun string) []byte {
	var b bytes.Buffer
	lines := func(text string) {
		b.WriteString("\x1b[0m" + strings.ReplaceAll(text, "\n", "\r\n") + "\x1b[0m")
	}
	b.WriteString("\x1bc") // reset the terminal
	if m[2] > 0 {          // else tmux takes the first visible line for a scrolled one
		lines(history)
		b.WriteString("\r\n")
	}
	if m[3] == 1 {
		// It has the size at which the alternate screen began.
		all := strings.Split(behind, "\n")
		for len(all) > height && all[len(all)-1] == "" && len(all) > m[5]+1 {
			all = all[:len(all)-1]
		}
		lines(strings.Join(all, "\n"))
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?1049h\x1b[H", m[5]+1-max(len(all)-height, 0), m[4]+1)
	}
	lines(seen)
	upper, lower, y := m[6], m[7], m[1]
	if upper > 0 || lower < height-1 {
		fmt.Fprintf(&b, "\x1b[%d;%dr", upper+1, lower+1)
	}
	for _, mode := range []struct {
		on   bool
		text string
	}{
		{m[8] == 1, "\x1b[?6h"}, {m[9] == 1, "\x1b[4h"}, {m[10] == 1, "\x1b[?1h"}, {m[11] == 1, "\x1b="}, {m[12] == 0, "\x1b[?7l"},
		{m[13] == 0, "\x1b[?25l"}, {m[14] == 1, "\x1b[?1000h"}, {m[15] == 1, "\x1b[?1002h"}, {m[16] == 1, "\x1b[?1003h"}, {m[17] == 1, "\x1b[?1006h"},
	} {
		if mode.on {
			b.WriteString(mode.text)
		}
	}
	if m[8] == 1 { // lines count from the first of the region
		y -= upper
	}
	fmt.Fprintf(&b, "\x1b[%d;%dH", y+1, m[0]+1)
	if m[0] >= width && upper == 0 && lower == height-1 {
		// The next output begins a new line. No sequence says so, so draw the line again.
		b.WriteString("\x1b[H")
		above := strings.SplitN(seen, "\n", y+2)
		lines(strings.Join(above[:min(y+1, len(above))], "\n"))
	}
	b.WriteString(begun)
	return b.Bytes()
}

// unescape decodes the output of capture-pane -C: \ooo for a byte.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Untap ends a Tap, unless another one has begun since.
func (c *Client) Untap(ctx context.Context, p PaneID, file string) error {
	s, err := c.Look(ctx, p)
	if err != nil || s.Tap != file {
		return ignore(err, ErrNotFound)
	}
	_, err = c.sequence(ctx, []string{"pipe-pane", "-t", string(p)}, []string{"set-option", "-p", "-u", "-t", string(p), "--", optTap})
	return ignore(err, ErrNotFound)
}

// Type types bytes as a terminal would send them.
func (c *Client) Type(ctx context.Context, p PaneID, b []byte) error {
	const most = 512 // fits into a command line
	done := 0
	for len(b) > 0 {
		part := b[:min(most, len(b))]
		b = b[len(part):]
		args := []string{"send-keys", "-H", "-t", string(p)}
		for _, one := range part {
			args = append(args, fmt.Sprintf("%02x", one))
		}
		if _, err := c.Run(ctx, args...); err != nil {
			if done > 0 {
				err = fmt.Errorf("only the first %d bytes were typed: %w", done, err)
			}
			return err
		}
		done += len(part)
	}
	return nil
}

// Paste pastes text, bracketed if the program asked for that. The text must not contain
// control characters other than tabs and newlines: others could end the bracket.
func (c *Client) Paste(ctx context.Context, p PaneID, text string) error {
	text = strings.Map(func(r rune) rune {
		if (r < ' ' || 0x7f <= r && r < 0xa0) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r", "\n"))
	if text == "" {
		return nil
	}
	// Other panes, and other cmux servers, paste on the same tmux server.
	buffer := fmt.Sprintf("cmux-paste-%d-%s", os.Getpid(), strings.TrimPrefix(string(p), "%"))
	_, err := c.sequence(ctx, []string{"set-buffer", "-b", buffer, "--", text}, []string{"paste-buffer", "-p", "-d", "-b", buffer, "-t", string(p)})
	return err
}

// Marked returns the pane with an owner's name: guess, unless that is another pane now,
// because a new server counts ids from 0 again; empty: there is none.
func (c *Client) Marked(ctx context.Context, thought PaneID, owner, name string) (found PaneID, err error) {
	all, err := c.ListPanes(ctx)
	dead := true
	for i := range all {
		p := &all[i]
		if p.Run != owner || p.Node != name {
			continue
		}
		if p.ID == thought {
			return p.ID, nil
		}
		if found == "" || dead && !p.Dead {
			found, dead = p.ID, p.Dead
		}
	}
	return found, err
}

// Sitter is a terminal whose keys go to a pane.
type Sitter struct {
	Name  string    // /dev/pts/3
	Typed time.Time // time of its last input, to the second
}

// Sitters returns the terminals whose keys go to a pane.
func (c *Client) Sitters(ctx context.Context, p PaneID) ([]Sitter, error) {
	out, err := c.Run(ctx, "list-clients", "-F", "#{client_control_mode} #{client_readonly} #{pane_id} #{client_activity} #{client_name}")
	if err != nil {
		return nil, err
	}
	var all []Sitter
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 5)
		if len(f) != 5 || f[0] == "1" || f[1] == "1" || f[2] != string(p) {
			continue
		}
		at, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("tmux list-clients: cannot read %q", line)
		}
		all = append(all, Sitter{Name: f[4], Typed: time.Unix(at, 0)})
	}
	return all, nil
}
