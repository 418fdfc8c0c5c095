package lease

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// TestMain lets this binary run as a process that takes a number and holds it until it is
// killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("LEASE_DIR"); dir != "" {
		l, err := Take(dir, 3, Holder{Project: "/p", Run: os.Getenv("LEASE_RUN")}, nobody)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(l.N)
		select {}
	}
	os.Exit(m.Run())
}

func nobody(int) bool { return false }

// holding starts a process that holds a number and returns the number.
func holding(t *testing.T, dir, run string) (n string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEASE_DIR="+dir, "LEASE_RUN="+run)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(kill)
	line, _, err := bufio.NewReader(out).ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	return string(line), kill
}

func TestTake(t *testing.T) {
	dir := t.TempDir() + "/slots"
	mine := Holder{Project: "/p", Run: "mine"}
	first, err := Take(dir, 3, mine, nobody)
	if err != nil || first.N != 0 {
		t.Fatalf("%v, %v", first, err)
	}
	n, kill := holding(t, dir, "other")
	if n != "1" {
		t.Fatalf("another run took %s", n)
	}
	held, err := Held(dir)
	if err != nil || len(held) != 2 || held[0].Run != "mine" || held[1].Run != "other" || held[1].PID == 0 {
		t.Errorf("held: %+v, %v", held, err)
	}
	if _, err := Join(dir, 1, mine); err == nil {
		t.Error("joined what another run has")
	}
	again, err := Join(dir, 0, mine)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := Join(dir, 0, Holder{Project: "/p", Run: "third"}); err == nil {
		t.Error("a number was free while a process of its run held it")
	}
	third, err := Take(dir, 3, Holder{Project: "/q", Run: "mine"}, nobody)
	if err != nil || third.N != 2 {
		t.Fatalf("a run of another project: %v, %v", third, err)
	}
	if _, err := Take(dir, 3, Holder{Run: "late"}, nobody); !errors.Is(err, ErrNone) {
		t.Errorf("all are in use: %v", err)
	}
	kill()
	if l, err := Take(dir, 3, Holder{Run: "late"}, nobody); err != nil || l.N != 1 {
		t.Errorf("after its holder was killed: %v, %v", l, err)
	}
	if err := again.Release(); err != nil {
		t.Fatal(err)
	}
	if l, err := Take(dir, 3, mine, func(n int) bool { return n == 0 }); !errors.Is(err, ErrNone) {
		t.Errorf("took %v, %v, against which there was something", l, err)
	}
}
