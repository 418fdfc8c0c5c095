package mailbox

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"cmux/agents/testkit/agenttest/fuzzing"
)

// Written messages can be read from any Place that was returned, with the right sender.
func TestBox(t *testing.T) {
	b, ctx := newBox(t), t.Context()
	if all, r := readAll(t, b, Place{}); len(all) != 0 || r.Next != (Place{}) || r.Again {
		t.Errorf("an empty box: %v, %+v", all, r)
	}
	one, two := message("supervisor", "w1", "line 1\nline 2\x1b[2J"), message("node:api", "user", "")
	two.Urgency, two.Re, two.Task = Urgent, one.ID, "t1"
	must(t, b.Append(ctx, true, one))
	all, r := readAll(t, b, Place{})
	must(t, b.Append(ctx, false, two))
	more, r2 := readAll(t, b, r.Next)
	one.Status, two.Status = Submitted, Submitted
	if len(all) != 1 || !reflect.DeepEqual(all[0].Message, one) || !all[0].Verified {
		t.Errorf("%+v", all)
	}
	if len(more) != 1 || !reflect.DeepEqual(more[0].Message, two) || more[0].Verified || r2.Again || more[0].File != Name || more[0].At != r.Next.Offset {
		t.Errorf("%+v, %+v", more, r2)
	}
	if again, r3 := readAll(t, b, r2.Next); len(again) != 0 || r3.Next != r2.Next {
		t.Errorf("%v, %+v", again, r3)
	}
	if info, err := os.Stat(b.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestSendChecks(t *testing.T) {
	b := newBox(t)
	for what, change := range map[string]func(*Message){
		"id": func(m *Message) { m.ID = "../x" }, "to": func(m *Message) { m.To = "a b" }, "from": func(m *Message) { m.From = "" },
		"no subject": func(m *Message) { m.Subject = " " }, "long subject": func(m *Message) { m.Subject = strings.Repeat("x", MaxSubject+1) },
		"lines": func(m *Message) { m.Subject = "a\nb" }, "long body": func(m *Message) { m.Body = strings.Repeat("x", MaxBody+1) },
		"no text": func(m *Message) { m.Body = "\xff" }, "urgency": func(m *Message) { m.Urgency = "very" }, "type": func(m *Message) { m.Type = "x" },
	} {
		m := message("supervisor", "w1", "")
		change(&m)
		if err := b.Append(t.Context(), true, m); err == nil {
			t.Errorf("%s: sent", what)
		}
	}
	if err := b.Record(t.Context(), Delivery{ID: "a", To: "all", State: Queued}); err == nil {
		t.Error("a delivery to all is one to nobody")
	}
	if _, err := os.Stat(b.Path()); err == nil {
		t.Error("something was written")
	}
}

// A line that is not a message is skipped, reported and kept; the lines after it count.
func TestBadLines(t *testing.T) {
	b := newBox(t)
	text := "hello\n" +
		`{"id":"a","ts":"2026-03-01T12:00:00Z","from":"old","to":"w1","subject":"by hand","status":"submitted"}` + "\n" +
		`{"id":"b","to":"nobody at all"}` + "\n" + "7\n" + "\n" + `{"id":"c","to":"w1","ts":"yesterday"}` + "\n" +
		`{"type":"status_update","id":"d","from":"cmux:w1","status":"working"}` + "\n" +
		strings.Repeat("x", maxLine+5) + "\n" + `{"id":"e","to":"w1","new":1}` + "\n" + `{"id":"f","to":"w1"`
	must(t, os.WriteFile(b.Path(), []byte(text), 0o600))
	all, r := readAll(t, b, Place{})
	if ids(all) != "a d e" || r.Skips != 6 || len(r.Bad) != 6 || all[0].Verified {
		t.Errorf("%s; %v", ids(all), r.Bad)
	}
	if r.Bad[0].Text != "hello" || r.Bad[0].At != 0 || !strings.Contains(r.Bad[0].String(), "mailbox, offset 0: not JSON") {
		t.Errorf("%v", &r.Bad[0])
	}
	must(t, b.Append(t.Context(), true, message("supervisor", "w1", "")))
	more, r2 := readAll(t, b, r.Next)
	if len(more) != 1 || r2.Skips != 1 || r2.Again { // the torn one
		t.Errorf("%v, %+v", more, r2)
	}
	if got, err := os.ReadFile(b.Path()); err != nil || !strings.HasPrefix(string(got), text) {
		t.Error("what was there was changed")
	}
	// A copy of a coded line is found by its id; a changed line is unverified.
	raw, _ := os.ReadFile(b.Path())
	line := bytes.TrimSpace(raw[bytes.LastIndexByte(raw[:len(raw)-1], '\n')+1:])
	f, err := os.OpenFile(b.Path(), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	fmt.Fprintf(f, "%s\n%s\n", line, bytes.Replace(line, []byte("half way"), []byte("all done"), 1))
	must(t, f.Close())
	copies, _ := readAll(t, b, r2.Next)
	if len(copies) != 2 || !copies[0].Verified || copies[1].Verified {
		t.Errorf("%+v", copies)
	}
	var l Ledger
	if _, err := l.Load(b, new(Places)); err != nil || l.Len() != 4 {
		t.Errorf("%d messages, %v", l.Len(), err)
	}
}

// Wherever the file is cut: a reader gets the whole lines and nothing else, and the next
// message begins on a new line.
func TestCutAfterEveryByte(t *testing.T) {
	b := newBox(t)
	for i := range 4 {
		m := message("supervisor", "w1", "ü\n")
		m.ID = fmt.Sprint("m", i)
		must(t, b.Append(t.Context(), true, m))
	}
	whole, err := os.ReadFile(b.Path())
	must(t, err)
	_, end := readAll(t, b, Place{})
	for n := range len(whole) + 1 {
		must(t, os.WriteFile(b.Path(), whole[:n], 0o600))
		want := bytes.Count(whole[:n], []byte("\n"))
		all, r := readAll(t, b, Place{})
		if len(all) != want || r.Skips != 0 {
			t.Fatalf("cut at %d: %s", n, ids(all))
		}
		last := message("supervisor", "w1", "")
		last.ID = "last"
		must(t, b.Append(t.Context(), true, last))
		more, r := readAll(t, b, r.Next)
		// A last line that only lacks its newline is a message.
		closed := n > 0 && n < len(whole) && whole[n] == '\n'
		if !strings.HasSuffix(ids(more), "last") || len(more) > 2 || (len(more) == 2) != closed || r.Again {
			t.Fatalf("cut at %d: then %s, %+v", n, ids(more), r)
		}
		// A reader whose Place was later reads everything again, except known messages.
		known := map[string]bool{"m0": true, "m1": true, "m2": true, "m3": true}
		var late []Line
		r, err := b.Read(end.Next, func(id string) bool { return known[id] }, func(l Line) error { late = append(late, l); return nil })
		if err != nil || ids(late) != "last" || r.Again != (n < len(whole)-1) {
			t.Fatalf("cut at %d: late reader %s, %+v, %v", n, ids(late), r, err)
		}
	}
}

// The mailbox is deleted, replaced or changed after a reader got its Place.
func TestPlaces(t *testing.T) {
	for what, change := range map[string]func(t *testing.T, path string, raw []byte){
		"deleted and recreated": func(t *testing.T, path string, raw []byte) {
			must(t, os.Remove(path))
		},
		"replaced by a copy": func(t *testing.T, path string, raw []byte) {
			must(t, os.WriteFile(path+".new", raw, 0o600))
			must(t, os.Rename(path+".new", path))
		},
		"changed in place": func(t *testing.T, path string, raw []byte) {
			must(t, os.WriteFile(path, bytes.Replace(raw, []byte("half"), []byte("full"), -1), 0o600))
		},
		"emptied": func(t *testing.T, path string, raw []byte) { must(t, os.Truncate(path, 0)) },
	} {
		t.Run(what, func(t *testing.T) {
			b := newBox(t)
			for range 3 {
				must(t, b.Append(t.Context(), true, message("supervisor", "w1", "")))
			}
			var l Ledger
			var at Places
			if _, err := l.Load(b, &at); err != nil || l.Len() != 3 {
				t.Fatalf("%d, %v", l.Len(), err)
			}
			raw, err := os.ReadFile(b.Path())
			must(t, err)
			change(t, b.Path(), raw)
			must(t, b.Append(t.Context(), true, message("supervisor", "w1", "new")))
			if _, r := readAll(t, b, at.Messages); !r.Again {
				t.Errorf("the place was believed: %+v", r)
			}
			if _, err := l.Load(b, &at); err != nil || l.Len() != 4 {
				t.Errorf("%d messages, %v", l.Len(), err)
			}
			if _, err := l.Load(b, &at); err != nil || l.Len() != 4 {
				t.Errorf("then %d messages, %v", l.Len(), err)
			}
		})
	}
}

// Files that are set aside are kept, and a reader continues through them from any Place.
func TestRotation(t *testing.T) {
	b := newBox(t)
	b.Full = 1000
	var places []Place
	var wrote []string
	for range 40 {
		_, r := readAll(t, b, Place{})
		places = append(places, r.Next)
		m := message("supervisor", "w1", "x")
		wrote = append(wrote, m.ID)
		must(t, b.Append(t.Context(), true, m))
	}
	old, err := b.aside(Name)
	must(t, err)
	if len(old) < 5 {
		t.Fatalf("only %v were set aside", old)
	}
	for i, p := range places {
		all, r := readAll(t, b, p)
		if ids(all) != strings.Join(wrote[i:], " ") || r.Again {
			t.Fatalf("from place %d: %s, want %s", i, ids(all), strings.Join(wrote[i:], " "))
		}
	}
	// Files with other names are not part of the mailbox.
	for _, name := range []string{"mailbox.1", "mailbox.bak", "mailbox.000000", "mailbox.+00001", "mailbox.deliveries.000009"} {
		must(t, os.WriteFile(filepath.Join(b.Dir, name), []byte(`{"id":"x","to":"w1"}`+"\n"), 0o600))
	}
	if all, r := readAll(t, b, Place{}); ids(all) != strings.Join(wrote, " ") || r.Skips != 0 {
		t.Errorf("%s", ids(all))
	}
	// If one of the files is lost, the others are read.
	must(t, os.Remove(filepath.Join(b.Dir, old[1])))
	if all, r := readAll(t, b, places[len(places)-1]); len(all) != 1 || r.Again {
		t.Errorf("%s, %+v", ids(all), r)
	}
}

// Twenty processes append 100,000 lines while files are set aside: no line is lost or torn,
// and each sender's are in order, also for a concurrent reader.
func TestManyWriters(t *testing.T) {
	const writers = 20
	each := 5000
	if testing.Short() {
		each = 200
	}
	b := newBox(t)
	b.Full = 3 << 20
	var cmds []*exec.Cmd
	for i := range writers {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", roleKey, b.Dir, i, each))
		cmd.Stderr = os.Stderr
		must(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	over := make(chan struct{})
	var waiting sync.WaitGroup
	for _, cmd := range cmds {
		waiting.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	go func() { waiting.Wait(); close(over) }()

	next := map[string]int{}
	total, at := 0, Place{}
	take := func() {
		r, err := b.Read(at, nil, func(l Line) error {
			if l.Subject != fmt.Sprint(next[l.From]) || !l.Verified {
				return fmt.Errorf("%s at %d of %s: want %d of %s", l.Subject, l.At, l.File, next[l.From], l.From)
			}
			next[l.From]++
			total++
			return nil
		})
		must(t, err)
		if r.Skips != 0 || r.Again {
			t.Fatalf("%+v", r)
		}
		at = r.Next
	}
	for done := false; !done; {
		select {
		case <-over:
			done = true
		default:
		}
		take()
	}
	if total != writers*each {
		t.Errorf("%d lines, want %d", total, writers*each)
	}
	if old, err := b.aside(Name); err != nil || !testing.Short() && len(old) < 2 {
		t.Errorf("set aside: %v, %v", old, err)
	}
}

// Random deliveries: the ledger agrees with a plain reading, however often and in how many
// parts it loads.
func TestLedgerProperty(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		b := newBox(t)
		b.Full = 2000
		want := map[string]State{}
		var all []Message
		var l Ledger
		var at Places
		for range 120 {
			switch rnd.IntN(4) {
			case 0:
				m := message("supervisor", fmt.Sprint("w", rnd.IntN(3)), "")
				all = append(all, m)
				want[m.ID] = Queued
				must(t, b.Append(t.Context(), true, m))
			case 1, 2:
				if len(all) == 0 {
					continue
				}
				m := all[rnd.IntN(len(all))]
				s := []State{Queued, Handed, Confirmed, Failed, Expired}[rnd.IntN(5)]
				if want[m.ID] != Confirmed {
					want[m.ID] = s
				}
				must(t, b.Record(t.Context(), Delivery{ID: m.ID, To: m.To, State: s, At: noon, Try: 1}))
			case 3:
				if rnd.IntN(10) == 0 {
					at = Places{} // reads it all again
				}
				_, err := l.Load(b, &at)
				must(t, err)
			}
		}
		_, err := l.Load(b, &at)
		must(t, err)
		var waits, should []string
		for _, w := range l.Waiting() {
			waits = append(waits, w.ID)
		}
		for _, m := range all {
			to, _ := m.Recipient()
			if got := l.Status(m.ID, to).State; got != want[m.ID] {
				t.Fatalf("seed %d: %s is %s, want %s", seed, m.ID, got, want[m.ID])
			}
			if !want[m.ID].Final() {
				should = append(should, m.ID)
			}
		}
		if !reflect.DeepEqual(waits, should) {
			t.Fatalf("seed %d: %v wait, want %v", seed, waits, should)
		}
	}
}

// A message to all is distributed once, by one write, and is then one message for each
// recipient.
func TestAll(t *testing.T) {
	b := newBox(t)
	m := message("supervisor", "all", "")
	must(t, b.Append(t.Context(), true, m))
	var l Ledger
	var at Places
	load := func() []Waiting {
		_, err := l.Load(b, &at)
		must(t, err)
		return l.Waiting()
	}
	if w := load(); len(w) != 1 || w[0].For.Kind != All {
		t.Fatalf("%+v", w)
	}
	must(t, b.Record(t.Context(), Delivery{ID: m.ID, To: "w1", State: Queued}, Delivery{ID: m.ID, To: "w2", State: Queued}))
	if w := load(); len(w) != 2 || w[0].For.Name != "w1" || w[1].For.Name != "w2" {
		t.Fatalf("%+v", w)
	}
	must(t, b.Record(t.Context(), Delivery{ID: m.ID, To: "w1", State: Confirmed}))
	if w := load(); len(w) != 1 || w[0].For.Name != "w2" {
		t.Fatalf("%+v", w)
	}
	nobody := message("supervisor", "all", "")
	must(t, b.Append(t.Context(), true, nobody))
	must(t, b.Record(t.Context(), Delivery{ID: nobody.ID, To: "all", State: Expired}, Delivery{ID: m.ID, To: "w2", State: Failed, Why: "gone"}))
	if w := load(); len(w) != 0 {
		t.Fatalf("%+v", w)
	}
	must(t, b.Record(t.Context(), Delivery{ID: m.ID, To: "w2", State: Queued}))
	if w := load(); len(w) != 1 || w[0].For.Name != "w2" {
		t.Fatalf("%+v", w)
	}
	var all []Line
	l.Lines(func(m Line) bool { all = append(all, m); return len(all) < 2 })
	if found, ok := l.Find(nobody.ID); !ok || found.ID != nobody.ID || ids(all) != m.ID+" "+nobody.ID {
		t.Errorf("%+v, %s", found, ids(all))
	}
}

// Deliveries count only with cmux's code.
func TestForgedDelivery(t *testing.T) {
	b := newBox(t)
	m := message("supervisor", "w1", "")
	must(t, b.Append(t.Context(), true, m))
	must(t, os.WriteFile(filepath.Join(b.Dir, Deliveries), fmt.Appendf(nil, `{"id":%q,"to":"w1","state":"confirmed"}`+"\n", m.ID), 0o600))
	var l Ledger
	bad, err := l.Load(b, new(Places))
	must(t, err)
	if len(bad) != 1 || !strings.Contains(bad[0].Why, "not written by") || len(l.Waiting()) != 1 {
		t.Errorf("%v, %v", bad, l.Waiting())
	}
}

func TestAttached(t *testing.T) {
	for body, want := range map[string]bool{
		".cmux/journal/2026-03-01/attachments/msg-abc.md":        true,
		".cmux/journal/2026-03-01/attachments/msg-abd.md":        false, // of another message
		".cmux/journal/2026-03-01/attachments/../msg-abc.md":     false,
		"journal/2026-03-01/attachments/msg-abc.md":              false,
		"see .cmux/journal/2026-03-01/attachments/msg-abc.md":    false,
		".cmux/journal/2026-03-01/attachments/msg-abc.md\nmore!": false,
	} {
		m := Message{ID: "abc", Body: strings.Replace(body, "msg-abc.md", AttachmentName("abc"), 1)}
		if rel, ok := m.Attached(); ok != want || ok && ".cmux/"+rel != body {
			t.Errorf("%q: %q, %v", body, rel, ok)
		}
	}
}

// A stopped read continues at the message at which it was stopped.
func TestReadStops(t *testing.T) {
	b := newBox(t)
	for i := range 3 {
		m := message("supervisor", "w1", "")
		m.ID = fmt.Sprint("m", i)
		must(t, b.Append(t.Context(), true, m))
	}
	r, err := b.Read(Place{}, nil, func(l Line) error {
		if l.ID == "m1" {
			return context.Canceled
		}
		return nil
	})
	if err == nil {
		t.Fatal("no error")
	}
	if all, _ := readAll(t, b, r.Next); ids(all) != "m1 m2" {
		t.Errorf("then %s", ids(all))
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"a","ts":"2026-03-01T12:00:00Z","from":"w1","to":"cmux:supervisor","subject":"[DONE] x","body":"y","status":"submitted"}`))
	f.Add([]byte(`{"id":"a","to":"node:api","urgency":"interrupt"}`))
	f.Add([]byte(`{"type":"status_update","id":"a"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Parse(line)
		if err != nil {
			return
		}
		again, err := encode(m)
		if err != nil {
			return // a year that JSON cannot represent
		}
		m2, err := Parse(again)
		if err != nil || !reflect.DeepEqual(m, m2) && !strings.Contains(string(line), "ts") {
			t.Errorf("%s: %+v, then %s: %+v, %v", line, m, again, m2, err)
		}
		m.Recipient()
		m.Attached()
		Cut(m.Subject)
		ParseDelivery(line)
	})
}
