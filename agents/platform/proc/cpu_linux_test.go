package proc

import (
	"os"
	"testing"
)

func TestCPU(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	me := []Process{{Identity: self}}
	before := CPU(me)
	for i, n := 0, 0; CPU(me) < before+2; i++ { // it counts what is used, or this never ends
		n += i
	}
	if gone := CPU([]Process{{Identity: Identity{PID: 1 << 30}}}); gone != 0 || os.Getpid() == 1<<30 {
		t.Error(gone)
	}
}
