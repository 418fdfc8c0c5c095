package pipe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// SSHOptions are how ssh is called.
type SSHOptions struct {
	// Command is what runs on the machine, for its shell; empty: cmux machines pipe. A
	// person whose cmux is not in the machine's PATH sets it by CMUX_FAR_COMMAND.
	Command string
	Env     []string // of ssh; nil: this process's
}

const remoteCommand = "cmux machines pipe"

// SSH returns a Dialer for ssh://[user@]host[:port]. It runs the program ssh, with the
// configuration and the keys of the person; ssh asks nothing.
func SSH(rawURL string, o SSHOptions) (Dialer, error) {
	u, err := url.Parse(rawURL)
	if login, host, ok := cutLast(strings.TrimPrefix(rawURL, "ssh://"), "@"); ok && strings.Contains(login, ":") {
		return nil, fmt.Errorf("the address of %q has a password: cmux uses the keys of ssh and asks for none", host)
	}
	if err != nil || u.Scheme != "ssh" {
		return nil, fmt.Errorf("%q is no address of a machine: write ssh://[user@]host[:port]", rawURL)
	}
	host, user := u.Hostname(), u.User.Username()
	switch {
	case host == "" || strings.HasPrefix(host, "-") || strings.HasPrefix(user, "-") || strings.ContainsAny(host+user, " \t\n@/\\\"'$`;&|<>()%"):
		return nil, fmt.Errorf("%q names no host that ssh can reach", rawURL)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q has more than a host and a port", rawURL)
	}
	d := &sshDialer{url: strings.TrimSuffix(rawURL, "/"), env: o.Env}
	d.args = []string{"-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("%q has no valid port", rawURL)
		}
		d.args = append(d.args, "-p", port)
	}
	if user != "" {
		host = user + "@" + host
	}
	command := o.Command
	if command == "" {
		command = remoteCommand
	}
	d.args = append(d.args, host, command)
	return d, nil
}

// cutLast slices s around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

type sshDialer struct {
	url  string
	args []string
	env  []string
}

func (d *sshDialer) URL() string { return d.url }

// Dial starts ssh. Whether it reaches the machine shows in the first Read.
func (d *sshDialer) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.Command("ssh", d.args...)
	cmd.Env = d.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C in home's terminal is not for it
	c := &sshConn{url: d.url, cmd: cmd, ended: make(chan struct{})}
	cmd.Stderr = &c.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait closes that while Read may still find bytes in it.
	out, w := io.Pipe()
	cmd.Stdout = w
	cmd.WaitDelay = sshGrace // a process that holds ssh's stderr does not hold cmux
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", d.url, err)
	}
	c.in, c.out = in, out
	go func() { // Close waits for it
		defer close(c.ended)
		err := cmd.Wait()
		w.CloseWithError(c.reason(err))
	}()
	return c, nil
}

// sshGrace is how long ssh has to end before it is killed.
const sshGrace = 2 * time.Second

// sshConn is a connection through a process of ssh.
type sshConn struct {
	url   string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *io.PipeReader
	said  tail
	ended chan struct{} // closed when the process is gone
	once  sync.Once
}

func (c *sshConn) Read(b []byte) (int, error) { return c.out.Read(b) }

func (c *sshConn) Write(b []byte) (int, error) {
	n, err := c.in.Write(b)
	if err == nil {
		return n, nil
	}
	select { // ssh has closed its input because it ends: what it said is the reason
	case <-c.ended:
		return n, c.reason(err)
	case <-time.After(sshGrace):
		return n, err
	}
}

// Close ends ssh and waits for it.
func (c *sshConn) Close() error {
	c.once.Do(func() {
		c.in.Close()
		c.out.CloseWithError(io.ErrClosedPipe)
		c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.ended:
		case <-time.After(sshGrace):
			c.cmd.Process.Kill()
			<-c.ended
		}
	})
	return nil
}

// reason returns why ssh ended: what it said last, else err.
func (c *sshConn) reason(err error) error {
	if last := c.said.last(); last != "" {
		return fmt.Errorf("%s: %s", c.url, last)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return io.EOF
	case errors.As(err, &exit):
		return fmt.Errorf("%s: ssh ended: %s", c.url, exit)
	}
	return fmt.Errorf("%s: %w", c.url, err)
}

// maxTail is how much of ssh's stderr is kept.
const maxTail = 4 << 10

// tail keeps the end of what is written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-maxTail):]
	return len(b), nil
}

// last returns the last lines that are not empty, as one.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(t.b)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-mostLines):], "; ")
}

// mostLines is how many lines of ssh's stderr are a reason.
const mostLines = 3
