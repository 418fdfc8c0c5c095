package lease

import (
	"testing"
)

// TestSlotsOfTwoRuns: no two runs have the same slot, also when one takes more than a block
// and when it was killed while its wrappers live.
func TestSlotsOfTwoRuns(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a := &Slots{By: Holder{Project: "/p", Run: "a"}}
	b := &Slots{By: Holder{Project: "/q", Run: "b"}}
	seen := make(map[int]string)
	for range 2*BlockSlots + 1 {
		for _, s := range []*Slots{a, b} {
			slot, _ := s.Take()
			if other := seen[slot]; other != "" {
				t.Fatalf("slot %d of %s is %s's", slot, s.By.Run, other)
			}
			seen[slot] = s.By.Run
		}
	}
	wrapper, err := JoinSlot(3, a.By)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil { // as when it is killed
		t.Fatal(err)
	}
	c := &Slots{By: Holder{Project: "/p", Run: "c"}}
	if slot, _ := c.Take(); slot/BlockSlots == 0 || seen[slot] == "b" {
		t.Errorf("another run has slot %d, while a wrapper of run a has 3", slot)
	}
	again := &Slots{By: a.By}
	again.Hold(3)
	if slot, _ := again.Take(); slot/BlockSlots != 0 || slot == 3 {
		t.Errorf("the run goes on in slot %d", slot)
	}
	for _, s := range []*Slots{again, b, c} {
		if err := s.Close(); err != nil {
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

func heldBlocks(t *testing.T) map[int]Holder {
	t.Helper()
	dir, err := SlotFolder()
	if err != nil {
		t.Fatal(err)
	}
	held, err := Held(dir)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// TestSlotsWithoutFolder: if blocks cannot be shared, a run still gets slots.
func TestSlotsWithoutFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/dev/null/state")
	said := 0
	s := &Slots{Warn: func(error) { said++ }}
	seen := make(map[int]bool)
	for range 2*BlockSlots + 1 {
		slot, _ := s.Take()
		if seen[slot] {
			t.Fatalf("slot %d twice", slot)
		}
		seen[slot] = true
	}
	s.Release(5)
	if slot, _ := s.Take(); slot != 5 && s.block(0).checked[5] {
		t.Errorf("slot %d was taken; 5 was given back", slot)
	}
	if said != 1 {
		t.Errorf("it was said %d times", said)
	}
}
