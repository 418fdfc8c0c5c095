package lease

import (
	"path/filepath"

	"cmux/agents/platform/seal"
)

const (
	// BlockSlots is how many slots a run takes at a time: one lock serves them all.
	BlockSlots = 20
	// Blocks is how many of these there are, as far as there are ports for them.
	Blocks = 50
)

// SlotFolder is where the blocks of slots are taken, a file for each.
func SlotFolder() (string, error) {
	dir, err := seal.Folder()
	return filepath.Join(dir, "slots"), err
}

// JoinSlot keeps the block of a slot for a run as long as this process lives.
func JoinSlot(slot int, by Holder) (*Lease, error) {
	if slot >= BlockSlots*Blocks {
		return nil, nil
	}
	dir, err := SlotFolder()
	if err != nil {
		return nil, err
	}
	return Join(dir, slot/BlockSlots, by)
}
