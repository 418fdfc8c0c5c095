package proc

import (
	"bufio"
	"os/exec"
	"slices"
	"testing"
)

// A fork of a program has its arguments until it calls exec. It must not count as a second
// program that was abandoned.
func TestAbandonedKnowsForks(t *testing.T) {
	const mark = "abandoned-test"
	cmd := exec.Command("sh", "-c", "exec 3<&0; ( echo forked; read line <&3; exit ) & wait", mark)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close() // ends both
		cmd.Wait()
	}()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "forked\n" {
		t.Fatalf("%q, %v", line, err)
	}
	found, err := Abandoned(func(args []string, _ func(string) string) (uint64, bool) {
		return 1, slices.Contains(args, mark) // no process has started then
	})
	if err != nil || len(found) != 1 || found[0].PID != cmd.Process.Pid {
		t.Errorf("%v, %v; want the one process %d", found, err, cmd.Process.Pid)
	}
}
