package rooms

import (
	"testing"

	"cmux/agents/room"
)

// What a person types in a terminal stands there already; what they say elsewhere is shown.
func TestHere(t *testing.T) {
	c := call{tailed: "tail-A-"}
	for _, test := range []struct {
		line room.Line
		here bool
	}{
		{room.Line{Kind: room.KindSaid, By: room.User, Key: "tail-A-1"}, true},
		{room.Line{Kind: room.KindOrder, By: room.User, ID: "tail-A-2"}, true},
		{room.Line{Kind: room.KindSaid, By: room.User, Key: "tail-B-1"}, false},
		{room.Line{Kind: room.KindSaid, By: room.User}, false},
		{room.Line{Kind: room.KindOrder, By: room.User, ID: "x"}, false},
		{room.Line{Kind: room.KindSaid, By: "guest", Key: "tail-A-1"}, false},
	} {
		if got := c.here(&test.line); got != test.here {
			t.Errorf("%+v: %v", test.line, got)
		}
	}
}
