package signals

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary also runs as the other processes that the tests need.
const roleKey = "CMUX_SIGNALS_TEST_ROLE"

func TestMain(m *testing.M) {
	role, path, _ := strings.Cut(os.Getenv(roleKey), " ")
	switch role {
	case "":
		os.Exit(m.Run())
	case "hold": // take the lock, say so, hold it until killed
		if _, err := TryLock(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		io.Copy(io.Discard, os.Stdin)
	case "hold-and-fork": // the same, with a child of its own that outlives it
		if _, err := TryLock(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		// The child holds stdin's other end open only through fd 3.
		child := exec.Command("cat")
		r, _, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		child.Stdin = os.Stdin
		child.ExtraFiles = []*os.File{r}
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println("held", child.Process.Pid)
		child.Wait()
	case "append": // append 200 lines, some durable
		l, err := OpenLog(path)
		if err != nil {
			panic(err)
		}
		for i := range 200 {
			line := fmt.Appendf(nil, `{"pid":%d,"i":%d,"pad":%q}`, os.Getpid(), i, strings.Repeat("x", i*7))
			if err := l.Append(context.Background(), i%50 == 0, line); err != nil {
				panic(err)
			}
		}
	case "append-limited": // append below a limit on the size of files
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 10000, Max: 10000}); err != nil {
			panic(err)
		}
		l, err := OpenLog(path)
		if err != nil {
			panic(err)
		}
		line := []byte(`"` + strings.Repeat("x", 6000) + `"`)
		fmt.Println(l.Append(context.Background(), true, line))
		fmt.Println(l.Append(context.Background(), true, line))
		fmt.Println(l.Append(context.Background(), true, []byte(`"short"`)))
	default:
		panic("unknown role " + role)
	}
}

// process starts this binary in another role and returns it with its output.
func process(t *testing.T, role, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleKey+"="+role+" "+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

func said(t *testing.T, s *bufio.Scanner) string {
	t.Helper()
	if !s.Scan() {
		t.Fatalf("process ended without a word: %v", s.Err())
	}
	return s.Text()
}

// eventually polls until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, name, content string) {
	t.Helper()
	must(t, os.WriteFile(name, []byte(content), 0o644))
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	return string(b)
}

func list(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
