package far

import "fmt"

// Cursor is how far home has taken in a machine's journal.
type Cursor struct{ At uint64 }

// Take reports whether the entry is the next. One that was taken in before is not, and one
// behind a gap is an error.
func (c *Cursor) Take(seq uint64) (next bool, err error) {
	switch {
	case seq == c.At+1:
		c.At = seq
		return true, nil
	case seq <= c.At && seq > 0:
		return false, nil
	}
	return false, fmt.Errorf("entry %d came behind entry %d", seq, c.At)
}

// Missing returns what of data, which begins at byte offset of a stream, is behind the
// first have bytes of it. A gap is an error.
func Missing(data []byte, offset, have int64) ([]byte, error) {
	if offset < 0 || have < 0 || offset > have {
		return nil, fmt.Errorf("byte %d came, and byte %d was to come", offset, have)
	}
	return data[min(have-offset, int64(len(data))):], nil
}
