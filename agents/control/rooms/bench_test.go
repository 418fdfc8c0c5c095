package rooms

import (
	"fmt"
	"testing"

	"cmux/agents/control/project"
	"cmux/agents/room"
)

// BenchmarkList is what all that is shown of rooms costs, with as many as may be open.
func BenchmarkList(b *testing.B) {
	for _, messages := range []int{20, 500} {
		for _, memory := range []*project.Memory{nil, new(project.Memory)} {
			b.Run(fmt.Sprintf("messages=%d/memory=%v", messages, memory != nil), func(b *testing.B) {
				p := newRooms(b)
				p.Memory = memory
				for n := range mostRooms {
					if _, _, err := p.made(b, fmt.Sprintf("r%d", n)).Append(b.Context(), func([]room.Line) (all []room.Line, err error) {
						for i := range messages {
							all = append(all, room.Line{Kind: room.KindSaid, By: room.User, To: "ann", Text: fmt.Sprintf("Message %d has a few words.", i)})
						}
						return append(all, room.Line{Kind: room.KindOrder, By: room.User, Do: room.DoPause}), nil
					}); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					if all, err := p.List(); err != nil || len(all) != mostRooms {
						b.Fatal(len(all), err)
					}
				}
			})
		}
	}
}
