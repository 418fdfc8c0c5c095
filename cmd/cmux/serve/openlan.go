package serve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"rsc.io/qr"

	"cmux/agents/control"
)

// lanEvery is how often the lease of the listener is renewed, and a new code seen.
const lanEvery = 2 * time.Second

// openLAN keeps the dashboard open on the local network until ctx ends.
func (o *openOptions) openLAN(ctx context.Context, p *control.Project) (err error) {
	l, err := p.Serving().OpenLAN(ctx, o.Address)
	if err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		if cerr := l.Close(ending); cerr != nil && err == nil {
			err = cerr
		}
	}()
	if o.QR {
		if err := drawQR(o.Out, l.URL); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(o.Out, "Open on the phone:  %s\nFingerprint:        %s\nThe browser warns of a certificate that it does not know. Compare the fingerprint\nbefore you continue. The dashboard is open on the network until you end this command.\n", l.URL, l.Fingerprint); err != nil {
		return err
	}
	tick := time.NewTicker(lanEvery)
	defer tick.Stop()
	code, count := "", 0
	for {
		if l.Paired > count {
			fmt.Fprintln(o.Out, "A browser was paired.")
		}
		if l.Code != code {
			fmt.Fprintf(o.Out, "Code:               %s  (for one browser, until %s)\n", l.Code, l.Until.Local().Format("15:04:05"))
		}
		code, count = l.Code, l.Paired
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := l.Renew(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("the dashboard is not open on the network any more: %w", err)
		}
	}
}

// drawQR draws a text as a QR code, two rows a line: black on white, also in a dark
// terminal, as many cameras read no other.
func drawQR(w io.Writer, text string) error {
	c, err := qr.Encode(text, qr.L)
	if err != nil {
		return err
	}
	const quiet = 4 // empty modules around it
	var b strings.Builder
	for y := -quiet; y < c.Size+quiet; y += 2 {
		b.WriteString("\x1b[30;107m")
		for x := -quiet; x < c.Size+quiet; x++ {
			upper, lower := c.Black(x, y), c.Black(x, y+1)
			switch {
			case upper && lower:
				b.WriteString("█")
			case upper:
				b.WriteString("▀")
			case lower:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	_, err = io.WriteString(w, b.String())
	return err
}
