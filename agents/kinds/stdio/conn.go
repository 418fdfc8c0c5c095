package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// ErrEnded says that the program has ended and answers no more.
var ErrEnded = errors.New("the program has ended")

// maxLine bounds a line: what is longer is passed over.
const maxLine = 64 << 20

// Conn is our end of the two pipes. The program's output is written to it.
type Conn struct {
	version string          // "2.0", or empty for a program that does without
	input   *os.File        // the program's standard input
	ended   <-chan struct{} // closed when the program has ended
	handle  func(Message)   // requests and notifications, in order
	stray   func(line string)

	partial []byte // of a line; touched by Write alone
	skip    bool   // the line is too long

	writing sync.Mutex
	broken  error // an earlier write was cut short

	mu      sync.Mutex
	calls   int
	waiting map[string]chan Message
}

// Write takes in what the program prints.
func (c *Conn) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if c.skip = c.skip || len(c.partial)+len(rest) > maxLine; c.skip {
				c.partial = nil
			} else {
				c.partial = append(c.partial, rest...)
			}
			break
		}
		line := rest[:i]
		rest = rest[i+1:]
		if c.skip {
			c.skip = false
			continue
		}
		if len(c.partial) > 0 {
			line = append(c.partial, line...)
			c.partial = c.partial[:0]
		}
		c.line(line)
	}
	return len(p), nil
}

func (c *Conn) line(b []byte) {
	if b = bytes.TrimSpace(b); len(b) == 0 {
		return
	}
	m, err := Parse(b)
	switch {
	case err != nil:
		c.stray(string(b))
	case m.IsAnswer():
		c.mu.Lock()
		ch := c.waiting[string(m.ID)]
		delete(c.waiting, string(m.ID))
		c.mu.Unlock()
		if ch != nil {
			ch <- m // it has room for one
		}
	default:
		c.handle(m)
	}
}

// Pending is a call that was made and not answered yet.
type Pending struct {
	conn *Conn
	id   string
	ch   chan Message
}

// Ask makes a call and does not wait for its answer.
func (c *Conn) Ask(ctx context.Context, method string, params any) (*Pending, error) {
	c.mu.Lock()
	c.calls++
	p := &Pending{conn: c, id: strconv.Quote(strconv.Itoa(c.calls)), ch: make(chan Message, 1)}
	if c.waiting == nil {
		c.waiting = map[string]chan Message{}
	}
	c.waiting[p.id] = p.ch
	c.mu.Unlock()
	if err := c.send(ctx, Message{ID: json.RawMessage(p.id), Method: method}, params); err != nil {
		p.forget()
		return nil, err
	}
	return p, nil
}

func (p *Pending) forget() {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	delete(p.conn.waiting, p.id)
}

// Wait waits for the answer and reads it into result, which may be nil. The
// error is an *Error when the program refused, ErrEnded when it ended.
func (p *Pending) Wait(ctx context.Context, result any) error {
	var m Message
	select {
	case m = <-p.ch:
	case <-p.conn.ended:
		select {
		case m = <-p.ch:
		default:
			p.forget()
			return ErrEnded
		}
	case <-ctx.Done():
		p.forget()
		return ctx.Err()
	}
	if m.Error != nil {
		return m.Error
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("an answer that is not understood: %w", err)
	}
	return nil
}

// Call makes a call and waits for its answer.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	p, err := c.Ask(ctx, method, params)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// Notify sends a notification.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, Message{Method: method}, params)
}

// Answer answers a request of the program's.
func (c *Conn) Answer(ctx context.Context, id json.RawMessage, result any) error {
	b, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return c.send(ctx, Message{ID: id, Result: b}, nil)
}

// Refuse answers a request of the program's with an error.
func (c *Conn) Refuse(ctx context.Context, id json.RawMessage, code int, why string) error {
	return c.send(ctx, Message{ID: id, Error: &Error{Code: code, Message: why}}, nil)
}

func (c *Conn) send(ctx context.Context, m Message, params any) error {
	m.Version = c.version
	if params != nil {
		b, err := json.Marshal(params)
		if err != nil {
			return err
		}
		m.Params = b
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.broken != nil {
		return c.broken
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.input.SetWriteDeadline(time.Time{})
	// A program that reads nothing would hold the writer for ever.
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { c.input.SetWriteDeadline(past); close(over) })
	n, err := c.input.Write(append(b, '\n'))
	if !stop() {
		<-over // its deadline must not meet the next write
	}
	if err == nil {
		return nil
	}
	if n > 0 {
		c.broken = fmt.Errorf("a message was cut short: %w", err)
	}
	select {
	case <-c.ended:
		return ErrEnded
	default:
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// past is a deadline that is over.
var past = time.Unix(1, 0)
