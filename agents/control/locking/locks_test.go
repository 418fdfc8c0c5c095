package locking

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/platform/proc"
	"cmux/agents/records/locks"
	"cmux/signals"
)

// Who waits for a lock gets it when its holder ends, and touches the file for nothing
// else that happens in the folder.
func TestLockWaitsForTheEnd(t *testing.T) {
	var asked atomic.Int64 // each turn at the file asks for the time
	p := &Locks{Project: &project.Project{Caller: project.Caller{Now: func() time.Time { asked.Add(1); return time.Now() }, Person: true}, Root: t.TempDir()}}
	holder := exec.Command("sleep", "60")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Wait()
	defer holder.Process.Kill()
	start, err := proc.StartTime(holder.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.lockBook(true)
	if err != nil {
		t.Fatal(err)
	}
	h := locks.Holder{Who: "user", PID: holder.Process.Pid, Start: start, Boot: proc.BootID()}
	if got, _, err := b.Want(t.Context(), locks.Wish{Name: "db", Holder: h, By: h}); !got || err != nil {
		t.Fatal(got, err)
	}
	folder := filepath.Join(p.Root, signals.Folder)
	w := signals.Watch(t.Context(), folder)
	defer w.Close()
	done := make(chan error, 1)
	go func() { done <- p.Take(t.Context(), TakeLock{Name: "db", Wait: -1}) }()
	for {
		all, err := p.List()
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 1 && len(all[0].Waiting) == 1 {
			break
		}
		<-w.C
	}
	for i := range 20 {
		file := filepath.Join(folder, "other"+strconv.Itoa(i))
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		<-w.C
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	holder.Wait()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n > 4 {
		t.Errorf("it took %d turns at the file", n)
	}
	if all, err := p.List(); err != nil || len(all) != 1 || all[0].Holder == nil || all[0].Holder.PID != 0 || len(all[0].Waiting) != 0 {
		t.Errorf("%+v %v", all, err)
	}
}
