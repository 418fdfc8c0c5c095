package proxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/testkit/agenttest/fuzzing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// message returns a message of tmux's protocol.
func message(kind uint32, mark uint16, text string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint16(b, uint16(headerSize+len(text)))
	b = binary.LittleEndian.AppendUint16(b, mark)
	return append(append(b, 8, 0, 0, 0, 1, 2, 3, 4), text...)
}

// sent lists the messages in each write: type and text, with a * for a file descriptor.
func sent(writes []write) (out [][]string) {
	for _, w := range writes {
		var messages []string
		for data := w.data; len(data) > 0; {
			var h header
			if len(data) >= headerSize {
				h = parseHeader(data)
			}
			if h.size < headerSize || h.size > len(data) {
				messages = append(messages, fmt.Sprintf("%q", data))
				break
			}
			messages = append(messages, fmt.Sprintf("%d %s%s", h.kind, data[headerSize:h.size], strings.Repeat("*", len(w.fds))))
			data = data[h.size:]
		}
		if len(messages) > 0 {
			out = append(out, messages)
		}
	}
	return out
}

func TestIdentification(t *testing.T) {
	flags, long, done := message(identifyFlags, 0, "f"), message(identifyLongFlags, 0, "l"), message(identifyDone, 0, "")
	term, env, command := message(101, 0, "term"), message(105, 0, "A=1"), message(200, 0, "new")
	in, out := message(104, 1, "in"), message(110, 0x8000, "out") // an older and a newer header
	for _, tt := range []struct {
		name string
		says [][]byte
		fds  []int // of the first ones
		want [][]string
	}{
		{"flags wait for the end, right after the last descriptor",
			[][]byte{flags, long, term, in, out, env, done, command}, []int{3, 4},
			[][]string{{"101 term"}, {"104 in*"}, {"105 A=1"}, {"110 out*"}, {"100 f", "111 l", "106 "}, {"200 new"}}},
		{"without descriptors",
			[][]byte{flags, term, in, out, done, flags}, nil,
			[][]string{{"101 term", "104 in", "110 out"}, {"100 f", "106 "}, {"100 f"}}},
		{"no end: nothing says that it is a control client",
			[][]byte{flags, long, term, in}, []int{3},
			[][]string{{"101 term"}}},
		{"another protocol",
			[][]byte{flags, term, command, done, long}, nil,
			[][]string{{"101 term"}, {"100 f"}, {"200 new", "106 ", "111 l"}}},
		{"no messages",
			[][]byte{[]byte("GET / HTTP/1.1\r\n")}, nil,
			[][]string{{`"GET / HTTP/1.1\r\n"`}}},
		{"a message that is too large",
			[][]byte{flags, message(105, 0, strings.Repeat("x", maxMessage))}, nil,
			[][]string{{"100 f"}, {"105 " + strings.Repeat("x", maxMessage)}}},
	} {
		var id identification
		if got := sent(id.take(bytes.Join(tt.says, nil), tt.fds)); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s:\n got %.300q\nwant %.300q", tt.name, got, tt.want)
		}
	}
}

// FuzzIdentification: whatever a client sends, in whatever pieces, arrives once, with each
// of its descriptors. Flags do not arrive before the end of the identification.
func FuzzIdentification(f *testing.F) {
	f.Add(bytes.Join([][]byte{message(100, 0, "f"), message(111, 0, "l"), message(104, 1, ""), message(110, 1, ""), message(105, 0, "A=1"), message(106, 0, ""), message(200, 0, "new")}, nil), uint8(7), uint8(2))
	f.Add(append(message(100, 0, "f"), "GET / HTTP/1.1"...), uint8(1), uint8(0))
	f.Add(message(105, 0x8000, "A")[:18], uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, piece, descriptors uint8) {
		var fds []int
		for i := range descriptors {
			fds = append(fds, 1000+int(i))
		}
		feed := func(size int) (text []byte, over bool) {
			var id identification
			var got []int
			for at := 0; at < len(data); at += size {
				var with []int
				if at == 0 {
					with = fds
				}
				writes := id.take(data[at:min(at+size, len(data))], with)
				for _, w := range writes {
					text, got = append(text, w.data...), append(got, w.fds...)
				}
				for _, m := range slices.Concat(sent(writes)...) {
					if !id.over && (strings.HasPrefix(m, "100 ") || strings.HasPrefix(m, "111 ")) {
						t.Fatal("flags do not wait")
					}
				}
			}
			got = slices.Sorted(slices.Values(slices.Concat(got, id.last.fds, id.fds)))
			if len(data) > 0 && !slices.Equal(got, fds) {
				t.Fatalf("descriptors are %v, want %v", got, fds)
			}
			if all := len(text) + len(id.flags) + len(id.last.data) + len(id.pending); all != len(data) {
				t.Fatalf("%d bytes of %d", all, len(data))
			}
			return text, id.over
		}
		whole, over := feed(max(len(data), 1))
		if pieces, over2 := feed(int(piece)%64 + 1); !bytes.Equal(pieces, whole) || over != over2 {
			t.Fatalf("in pieces it is %q, as a whole %q", pieces, whole)
		}
	})
}

// pair returns two connected sockets.
func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	var conns [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		must(t, err)
		f.Close()
		conns[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
	}
	return conns[0], conns[1]
}

// Descriptors arrive with their messages, and the proxy keeps none. A client that leaves
// before the end of its identification has not said that it is a control client.
func TestRelay(t *testing.T) {
	client, from := pair(t)
	to, server := pair(t)
	var wait sync.WaitGroup
	wait.Go(func() { relay(from, to, new(identification)); to.Close() })
	readOut, writeOut, err := os.Pipe()
	must(t, err)
	readIn, writeIn, err := os.Pipe()
	must(t, err)
	say := func(b []byte, fds ...int) {
		t.Helper()
		var rights []byte
		if len(fds) > 0 {
			rights = unix.UnixRights(fds...)
		}
		_, _, err := client.WriteMsgUnix(b, rights, nil)
		must(t, err)
	}
	hear := func(want string) (fds []int) {
		t.Helper()
		buf, rights := make([]byte, 1<<16), make([]byte, 1024)
		n, rn, _, _, err := server.ReadMsgUnix(buf, rights)
		must(t, err)
		fds = descriptors(rights[:rn])
		if got := fmt.Sprint(sent([]write{{buf[:n], fds}})); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		return fds
	}
	say(append(message(identifyFlags, 0, "f"), message(101, 0, "term")...))
	hear("[[101 term]]")
	say(message(104, 1, "in"), int(readIn.Fd()))
	say(message(110, 1, "out"), int(writeOut.Fd()))
	in := os.NewFile(uintptr(hear("[[104 in*]]")[0]), "in")
	say(message(identifyDone, 0, ""))
	out := os.NewFile(uintptr(hear("[[110 out*]]")[0]), "out")
	hear("[[100 f 106 ]]")

	readIn.Close()
	writeOut.Close()
	_, err = out.WriteString("output")
	must(t, err)
	out.Close()
	if b, err := io.ReadAll(readOut); string(b) != "output" || err != nil { // it ends: nobody else has it
		t.Errorf("read %q, %v", b, err)
	}
	in.Close()
	if _, err := writeIn.WriteString("input"); err == nil {
		t.Error("the proxy keeps a descriptor")
	}
	client.Close()
	wait.Wait()

	client, from = pair(t)
	to, server = pair(t)
	wait.Go(func() { relay(from, to, new(identification)); to.Close() })
	say(append(message(identifyFlags, 0, "f"), message(101, 0, "term")...))
	client.Close()
	hear("[[101 term]]")
	if b, err := io.ReadAll(server); len(b) > 0 || err != nil {
		t.Errorf("then read %q, %v", b, err)
	}
	wait.Wait()
}

// A proxy that no client comes to, or whose server does not read, ends when it is told to,
// and leaves nothing. There is none without a server, or without a private folder whose
// path is short enough.
func TestProxyEnds(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "ct")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	server, private, shared, long := filepath.Join(dir, "server"), filepath.Join(dir, "private"), filepath.Join(dir, "shared"), filepath.Join(dir, strings.Repeat("long", 30))
	if Open(server, private) != nil {
		t.Fatal("there is a proxy without a server")
	}
	l, err := net.Listen("unix", server)
	must(t, err)
	defer l.Close()
	must(t, os.Mkdir(shared, 0o700))
	must(t, os.Chmod(shared, 0o755))
	if Open(server, shared, long, filepath.Join(dir, "no", "folder")) != nil {
		t.Fatal("there is a proxy in an unusable folder")
	}
	for _, comes := range []bool{false, true} {
		p := Open(server, shared, long, private)
		if p == nil {
			t.Fatal("there is no proxy")
		}
		stop, over := make(chan struct{}), make(chan struct{})
		go func() { defer close(over); p.Relay(stop) }()
		if comes {
			client, err := net.Dial("unix", p.Socket)
			must(t, err)
			defer client.Close()
			client.SetDeadline(time.Now().Add(100 * time.Millisecond))
			for err == nil {
				_, err = client.Write(message(200, 0, strings.Repeat("x", 10_000)))
			}
		}
		close(stop)
		select {
		case <-over:
		case <-time.After(30 * time.Second):
			t.Fatalf("the proxy does not end (a client: %v)", comes)
		}
		if left, err := os.ReadDir(private); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
}
