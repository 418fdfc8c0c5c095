package lease

import (
	"path/filepath"

	"cmux/agents/platform/seal"
)

const (
	// BlockSlots is the number of slots in a block, which has one lock.
	BlockSlots = 20
	// Blocks is the number of blocks, limited by the number of ports.
	Blocks = 50
)

// SlotFolder returns the folder with one file for each block of slots.
func SlotFolder() (string, error) {
	dir, err := seal.Folder()
	return filepath.Join(dir, "slots"), err
}

// JoinSlot holds the block of a slot for a run as long as this process lives.
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
