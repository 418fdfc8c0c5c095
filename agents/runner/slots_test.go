package runner

import (
	"testing"

	"cmux/agents/lease"
)

// TestSlotsOfTwoRuns: no slot is in two runs, also when one takes more than a
// block and when it was killed while its wrappers live.
func TestSlotsOfTwoRuns(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a := &slots{by: lease.Holder{Project: "/p", Run: "a"}}
	b := &slots{by: lease.Holder{Project: "/q", Run: "b"}}
	seen := make(map[int]string)
	for range 2*lease.BlockSlots + 1 {
		for _, s := range []*slots{a, b} {
			slot, _ := s.take()
			if other := seen[slot]; other != "" {
				t.Fatalf("slot %d of %s is %s's", slot, s.by.Run, other)
			}
			seen[slot] = s.by.Run
		}
	}
	wrapper, err := lease.JoinSlot(3, a.by)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.close(); err != nil { // as when it is killed
		t.Fatal(err)
	}
	c := &slots{by: lease.Holder{Project: "/p", Run: "c"}}
	if slot, _ := c.take(); slot/lease.BlockSlots == 0 || seen[slot] == "b" {
		t.Errorf("another run has slot %d, while a wrapper of run a has 3", slot)
	}
	again := &slots{by: a.by}
	again.hold(3)
	if slot, _ := again.take(); slot/lease.BlockSlots != 0 || slot == 3 {
		t.Errorf("the run goes on in slot %d", slot)
	}
	for _, s := range []*slots{again, b, c} {
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := wrapper.Release(); err != nil {
		t.Fatal(err)
	}
	if held := heldBlocks(t); len(held) != 0 {
		t.Errorf("still held: %v", held)
	}
}

func heldBlocks(t *testing.T) map[int]lease.Holder {
	t.Helper()
	dir, err := lease.SlotFolder()
	if err != nil {
		t.Fatal(err)
	}
	held, err := lease.Held(dir)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// TestSlotsWithoutFolder: where nothing can be shared out, a run has slots all
// the same.
func TestSlotsWithoutFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/dev/null/state")
	said := 0
	s := &slots{warn: func(error) { said++ }}
	seen := make(map[int]bool)
	for range 2*lease.BlockSlots + 1 {
		slot, _ := s.take()
		if seen[slot] {
			t.Fatalf("slot %d twice", slot)
		}
		seen[slot] = true
	}
	s.release(5)
	if slot, _ := s.take(); slot != 5 && s.block(0).checked[5] {
		t.Errorf("slot %d was taken; 5 was given back", slot)
	}
	if said != 1 {
		t.Errorf("it was said %d times", said)
	}
}
