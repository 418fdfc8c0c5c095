package proc

import (
	"context"
	"errors"
	"os/exec"
	"testing"
)

func TestAwaitExit(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	ended := make(chan error)
	go func() { ended <- AwaitExit(t.Context(), pid) }()

	ctx, cancel := context.WithCancel(t.Context())
	another := make(chan error)
	go func() { another <- AwaitExit(ctx, pid) }()
	cancel()
	if err := <-another; !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was called off: %v", err)
	}

	select {
	case err := <-ended:
		t.Fatalf("it has not ended, and %v", err)
	default:
	}
	in.Close()
	if err := <-ended; err != nil { // a zombie has ended
		t.Error(err)
	}
	cmd.Wait()
	if err := AwaitExit(t.Context(), pid); err != nil {
		t.Errorf("one that is no more: %v", err)
	}
}
