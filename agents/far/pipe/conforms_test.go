package pipe_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"cmux/agents/far"
	"cmux/agents/far/fartest"
	"cmux/agents/far/pipe"
)

func TestConforms(t *testing.T) { fartest.Conforms(t, newSetup) }

// newSetup connects home and machines in memory.
func newSetup(t *testing.T) fartest.Setup {
	var mu sync.Mutex
	networks := map[*fartest.Machine]*fartest.Network{}
	of := func(m *fartest.Machine) *fartest.Network {
		mu.Lock()
		defer mu.Unlock()
		if networks[m] == nil {
			networks[m] = fartest.NewNetwork()
		}
		return networks[m]
	}
	return fartest.Setup{
		Home: func(ms []*fartest.Machine) (far.Carrier, func()) {
			var dialers []pipe.Dialer
			for _, m := range ms {
				dialers = append(dialers, &dialer{"pipe://" + m.Name(), of(m)})
			}
			c := pipe.New(t.Context(), pipe.Options{Home: "home", Cmux: "1", Machines: dialers})
			return c, c.Stop
		},
		Up: func(m *fartest.Machine) {
			of(m).Serve(func(conn io.ReadWriteCloser) { pipe.Serve(context.Background(), conn, m, far.Beat) })
		},
		Down: func(m *fartest.Machine) {
			of(m).Serve(nil)
			of(m).Wait()
		},
		Cut:    func(m *fartest.Machine, after int) { of(m).Cut(after) },
		Refuse: func(m *fartest.Machine, refuse bool) { of(m).Refuse(refuse) },
		Stall:  func(m *fartest.Machine, d time.Duration) { of(m).Stall(d) },
	}
}
