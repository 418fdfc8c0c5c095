package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// ErrGone says that the wrapper does not answer, or ended before it did.
var ErrGone = errors.New("its wrapper does not answer")

// Client talks to the wrapper of a node. It may be used by several goroutines.
type Client struct {
	conn    net.Conn
	run     *run.Run // whose orders it gives; nil: it gives none
	node    string
	attempt int
	gone    chan struct{}
	replies chan attempt.Reply
	mu      sync.Mutex // one request at a time
}

// Dial reaches the wrapper of an attempt of a node; ErrGone when there is none.
func Dial(ctx context.Context, r *run.Run, node string, n int) (*Client, error) {
	c, err := dial(ctx, r.Socket(node))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	c.run, c.node, c.attempt = r, node, n
	return c, nil
}

func dial(ctx context.Context, path string) (*Client, error) {
	c := &Client{gone: make(chan struct{}), replies: make(chan attempt.Reply, 1)}
	err := reach(path, func(address string) (err error) {
		c.conn, err = (&net.Dialer{}).DialContext(ctx, "unix", address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	go func() {
		defer close(c.gone)
		dec := json.NewDecoder(c.conn)
		for {
			var r attempt.Reply
			if dec.Decode(&r) != nil {
				return
			}
			select {
			case c.replies <- r:
			default: // nobody asked
			}
		}
	}()
	return c, nil
}

// Gone is closed when the wrapper has ended, however it did, or after Close.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Close ends the connection.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.gone
	return err
}

// Send makes one request and waits for its reply. What the attempt refused is an
// error too.
func (c *Client) Send(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	b, err := c.encode(m)
	if err != nil {
		return attempt.Reply{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	deadline, _ := ctx.Deadline() // zero: none
	c.conn.SetWriteDeadline(deadline)
	if _, err := c.conn.Write(b); err != nil {
		return attempt.Reply{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	var r attempt.Reply
	select {
	case r = <-c.replies:
	case <-c.gone:
		select {
		case r = <-c.replies:
		default:
			return r, ErrGone
		}
	case <-ctx.Done():
		// A late reply would be taken for that of the next request.
		c.conn.Close()
		return r, ctx.Err()
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// encode is a message as it is sent. An order holds the code of the run's key
// for its attempt.
func (c *Client) encode(m attempt.Message) ([]byte, error) {
	if m.Op.From() == attempt.ByCmux && c.run != nil {
		m.ID = run.NewToken()
		return c.run.SealOrder(c.node, c.attempt, m)
	}
	b, err := json.Marshal(m)
	return append(b, '\n'), err
}

func (c *Client) do(ctx context.Context, m attempt.Message) error {
	_, err := c.Send(ctx, m)
	return err
}

// Ping asks whether the wrapper answers.
func (c *Client) Ping(ctx context.Context) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpPing})
}

// RanCommand asks whether a command of the agent's shell was at work when a
// file got the time at.
func (c *Client) RanCommand(ctx context.Context, at time.Time) (bool, error) {
	r, err := c.Send(ctx, attempt.Message{Op: attempt.OpRanCommand, At: at})
	return r.Yes, err
}

// Cancel ends the attempt for good: stop NAME.
func (c *Client) Cancel(ctx context.Context) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpCancel})
}

// Stop ends the attempt without an end, to be redone: stop.
func (c *Client) Stop(ctx context.Context) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpStop})
}

// Break ends the attempt without an end, to be redone: its runner was told to
// leave.
func (c *Client) Break(ctx context.Context) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpBreak})
}

// Budget ends the attempt because the run is over its budget, as text says.
func (c *Client) Budget(ctx context.Context, text string) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpBudget, Text: text})
}

// Answer hands a person's answer to the agent.
func (c *Client) Answer(ctx context.Context, text string) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpAnswer, Text: text})
}

// Release gives a taken-over agent back to cmux.
func (c *Client) Release(ctx context.Context) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpRelease})
}

// Retry has an agent go on whose program has ended without a report.
func (c *Client) Retry(ctx context.Context) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpRetry})
}

// Granted gives the attempt the slot that it asked for. On trial it is to find
// out whether the limit of its account is over.
func (c *Client) Granted(ctx context.Context, trial bool) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpGranted, Trial: trial})
}

// Overridden says that a person has decided the node.
func (c *Client) Overridden(ctx context.Context) error {
	return c.do(ctx, attempt.Message{Op: attempt.OpOverridden})
}

// patience bounds a report or a hook that the wrapper answers at once.
const patience = 30 * time.Second

// ErrOutside says that a command which only a node's own programs may use was
// called elsewhere.
var ErrOutside = errors.New("not inside a node of a run: this command is for the agents that cmux starts")

// Done is `cmux done`: it reports the attempt whose environment env is
// finished. A command node without a wrapper reports by its exit code alone;
// there Done does nothing.
func Done(ctx context.Context, env func(string) string, summary string) error {
	return report(ctx, env, attempt.Message{Op: attempt.OpDone, Text: summary})
}

// Blocked is `cmux blocked`: it reports that the agent cannot go on.
func Blocked(ctx context.Context, env func(string) string, reason string) error {
	return report(ctx, env, attempt.Message{Op: attempt.OpBlocked, Text: reason})
}

// Output is `cmux output KEY=VALUE`: it publishes a value for the nodes behind
// the attempt's own.
func Output(ctx context.Context, env func(string) string, key, value string) error {
	if file := env("CMUX_OUTPUT"); env("CMUX_SOCKET") == "" && file != "" {
		return leave(file, key, value)
	}
	return report(ctx, env, attempt.Message{Op: attempt.OpOutput, Key: key, Text: value})
}

// Post is `cmux mailbox send` of an agent's: its wrapper writes the message, and
// vouches for who sent it. It returns the id.
func Post(ctx context.Context, env func(string) string, m mailbox.Message, files ...mail.Enclosure) (id string, err error) {
	r, err := Report(ctx, env, attempt.Message{Op: attempt.OpSend, Mail: &m, Files: files})
	return r.Text, err
}

// Order gives a command of cmux, by its words, through the attempt whose environment env is:
// its program is in a fence, and cannot write what belongs to cmux. stdin is its input.
func Order(ctx context.Context, env func(string) string, words []string, stdin string) (attempt.Reply, error) {
	return call(ctx, env, attempt.Message{Op: attempt.OpOrder, Words: words, Text: stdin, Wait: true})
}

// Tried has the attempt whose environment env is record that it gave a command, by its
// words, which is a person's: in a fence its programs cannot write the records.
func Tried(ctx context.Context, env func(string) string, words []string) error {
	_, err := call(ctx, env, attempt.Message{Op: attempt.OpTried, Words: words, Wait: true})
	return err
}

// leave leaves an output where a command without a wrapper does.
func leave(file, key, value string) error {
	if err := run.CheckOutput(key, value); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(run.OutputLines(key, value))
	return errors.Join(err, f.Close())
}

func report(ctx context.Context, env func(string) string, m attempt.Message) error {
	if env("CMUX_SOCKET") == "" && env(proc.AttemptVar) != "" {
		return nil
	}
	_, err := Report(ctx, env, m)
	return err
}

// Report makes a report for the attempt whose environment env is. One that is
// to wait returns with the verdict, or with what a person answers.
func Report(ctx context.Context, env func(string) string, m attempt.Message) (attempt.Reply, error) {
	return call(ctx, env, m)
}

// held are hooks that wait for a verdict or a person. The agent program bounds
// them.
var held = map[string]bool{"Stop": true, "PermissionRequest": true}

func call(ctx context.Context, env func(string) string, m attempt.Message) (attempt.Reply, error) {
	path := env("CMUX_SOCKET")
	if path == "" {
		return attempt.Reply{}, ErrOutside
	}
	m.Token = env("CMUX_TOKEN")
	if !m.Wait && !held[m.Event] {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	c, err := dial(ctx, path)
	if err != nil {
		return attempt.Reply{}, fmt.Errorf("node %s: %w", env("CMUX_NODE"), err)
	}
	defer c.Close()
	return c.Send(ctx, m)
}

// maxPayload bounds what a hook may say.
const maxPayload = 64 << 20

// Hook is `cmux hook EVENT`: it relays a hook's payload (JSON on stdin, or
// nothing) and returns what the hook command is to print and its exit code. A
// hook that guards a tool fails closed: 2 refuses the tool.
func Hook(ctx context.Context, env func(string) string, event string, stdin io.Reader) (stdout string, exit int, err error) {
	closed := 1
	if event == "PreToolUse" {
		closed = 2
	}
	payload, err := io.ReadAll(io.LimitReader(stdin, maxPayload+1))
	if err != nil {
		return "", closed, err
	}
	if len(payload) > maxPayload {
		return "", closed, fmt.Errorf("hook %s: more than %d bytes on standard input", event, maxPayload)
	}
	m := attempt.Message{Op: attempt.OpHook, Event: event}
	if trimmed := json.RawMessage(payload); len(trimmed) > 0 && json.Valid(trimmed) {
		m.Payload = trimmed
	} else if len(trimmed) > 0 {
		return "", closed, fmt.Errorf("hook %s: standard input is not JSON", event)
	}
	r, err := call(ctx, env, m)
	if err != nil {
		return "", closed, err
	}
	return r.Stdout, r.Exit, nil
}
