package run

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// What is read ahead is what is read line by line, with what was written
// between the opening and the reading, and without what does not count.
func TestReadAhead(t *testing.T) {
	r := newRun(t)
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	write := func(n int) {
		t.Helper()
		for i := range n {
			if err := book.Append(t.Context(), Record{Type: Noted, Node: r.Plan.Graph.Nodes[0].Name, Attempt: 1, Detail: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	foul := func(text string) {
		t.Helper()
		f, err := os.OpenFile(r.Records(), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	write(3 * aheadBatch)
	foul("torn {\n{\"t\":\"noted\",\"foreign\":true}\n")
	write(2)
	opened, err := OpenAhead(r.Plan.Root, r.Plan.ID)
	if err != nil {
		t.Fatal(err)
	}
	write(1)
	if err := book.Append(t.Context(), Record{Type: RunEnded, How: "done", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, run := range []*Run{opened, opened, r} { // the second time nothing was read ahead
		h := NewHistory(run.Plan.Graph)
		told := 0
		next, err := run.Replay(h, 0, func(*Record) { told++ })
		if info, _ := os.Stat(r.Records()); err != nil || next != info.Size() {
			t.Errorf("read to %d of %d, %v", next, info.Size(), err)
		}
		if told != 3*aheadBatch+4 || len(h.Foreign) != 1 || len(h.Bad) != 1 || !h.Bad[0].Torn {
			t.Errorf("%d records, foreign %v, bad %v", told, h.Foreign, h.Bad)
		}
	}
	if _, err := OpenAhead(r.Plan.Root, "none"); err == nil {
		t.Error("a run that is not there was opened")
	}
}
