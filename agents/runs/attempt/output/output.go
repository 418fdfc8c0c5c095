package output

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Output writes everything an attempt prints to its log and to a live view. If the log
// cannot be written (a full disk) or the view is gone, the program continues; the first
// error is kept for a note.
type Output struct {
	mu    sync.Mutex
	log   *Log
	live  io.Writer
	muted bool // another program uses the terminal: show nothing
	last  time.Time
	said  Tail // of the program
	err   error
}

// New returns an Output that shows what is written to it on live, if that is not nil.
func New(live io.Writer) *Output { return &Output{live: live, last: time.Now()} }

// To sends later output to the log too, which Close closes.
func (o *Output) To(log *Log) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = log
}

// Say prints a line of cmux.
func (o *Output) Say(format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(o, "── cmux: %s\n", strings.ReplaceAll(text, "\n", "\n   "))
}

// maxSaid bounds the kept end of a program's output.
const maxSaid = 2 << 10

// Began forgets the output of earlier programs.
func (o *Output) Began() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = Tail{Limit: maxSaid}
}

// Said returns the end of the output since Began.
func (o *Output) Said() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.said.String()
}

// Mute implements agent.Muter.
func (o *Output) Mute(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.muted = on
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	if o.said.Limit > 0 {
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

// LastWrite returns when something was printed last.
func (o *Output) LastWrite() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// Close closes the log, and returns the first error of writing to it.
func (o *Output) Close() error {
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

// Tail keeps the last bytes written to it.
type Tail struct {
	Limit int
	buf   []byte
	cut   bool
}

func (t *Tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	// Trim in large steps, so that small writes stay cheap.
	if len(t.buf) > 2*t.Limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.Limit:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns the end of the output, in whole characters.
func (t *Tail) String() string {
	b := t.buf
	if len(b) > t.Limit {
		b = b[len(b)-t.Limit:]
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

// Readable returns a program's output without terminal control sequences: an agent reads
// it, and it may be pasted into a pane. Of a line that was overwritten, it keeps the last
// state.
func Readable(s string) string {
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
