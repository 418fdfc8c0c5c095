package attempt

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// output is where everything an attempt prints goes: its log, and whoever
// watches. A log that cannot be written (a full disk) or a watcher that has
// gone does not stop the program; the first fault is kept for a note.
type output struct {
	mu    sync.Mutex
	log   *Log
	live  io.Writer
	muted bool // the terminal is another program's: nothing is shown
	last  time.Time
	said  tail // of the program, for LastWords
	err   error
}

// maxSaid bounds what is kept of a program's last output.
const maxSaid = 2 << 10

// began forgets what programs before this one printed.
func (o *output) began() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = tail{limit: maxSaid}
}

// lastWords returns the end of what was printed since began.
func (o *output) lastWords() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

// Mute implements agent.Muter.
func (o *output) Mute(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.muted = on
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	if o.said.limit > 0 {
		o.said.Write(p)
	}
	if o.log != nil {
		if _, err := o.log.Write(p); err != nil && o.err == nil {
			o.err = err
		}
	}
	if o.live != nil && !o.muted {
		if _, err := o.live.Write(p); err != nil {
			o.live = nil
		}
	}
	return len(p), nil
}

func (o *output) lastWrite() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.err
	if o.log != nil {
		if e := o.log.Close(); err == nil {
			err = e
		}
		o.log = nil
	}
	return err
}

// tail keeps the last bytes written to it.
type tail struct {
	limit int
	buf   []byte
	cut   bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	// Trim in large steps, so that small writes stay cheap.
	if len(t.buf) > 2*t.limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.limit:]...)
		t.cut = true
	}
	return len(p), nil
}

// String is the end of what was written, whole characters only.
func (t *tail) String() string {
	b := t.buf
	if len(b) > t.limit {
		b = b[len(b)-t.limit:]
		t.cut = true
	}
	if t.cut {
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
		return "…" + string(b)
	}
	return string(b)
}

var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)
})

// readable is what a program printed without what a terminal would obey: an
// agent reads it, and it may be pasted into a pane. What was written over the
// same line again and again keeps its last state.
func readable(s string) string {
	s = escapes().ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' || 0x7f <= r && r < 0xa0 {
				return -1
			}
			return r
		}, l[strings.LastIndexByte(l, '\r')+1:])
	}
	return strings.Join(lines, "\n")
}
