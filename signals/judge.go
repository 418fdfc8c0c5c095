package signals

import "time"

// Settle is how long a marker must have been empty or missing before that counts: `echo $?
// > f` leaves f empty for an instant, an editor that saves removes the file for an instant,
// and a wrapper publishes its marker shortly after it wrote the record.
const Settle = 50 * time.Millisecond

// Recorded is what the run's records say about a node's marker. The zero value means that
// they have none.
type Recorded struct {
	Known bool
	Marker

	// Published means that the marker was seen in the folder since the machine booted. A
	// power cut may remove a marker that was seen before it; then nobody removed it.
	Published bool
}

// Observed is the file found in the signals folder under a node's name.
type Observed struct {
	Exists  bool
	DirGone bool // the folder was missing or replaced since the marker was last seen
	Marker
	Changed time.Time // last change of the file, by the clock of its file system; zero: unknown
	Problem string    // why the content is Bad, for people
	Since   time.Time // when the observer first saw this state, by its own clock
}

// VerdictKind is the meaning of a marker.
type VerdictKind uint8

const (
	None         VerdictKind = iota // no record, no file
	Ours                            // as recorded, or a touch of a done one: nothing to do
	Adopt                           // another file with the recorded content (a copy, a restored backup): record its identity
	Override                        // a person decided: done
	FailedByHand                    // a person decided: failed, with Code
	Touched                         // a person touched a marker that is not 0: empty it with Replace, then Override
	BadMarker                       // not a marker: report it, never treat it as done
	PutBack                         // missing: publish the recorded content again
	Torn                            // a power cut damaged our marker: Replace it by the recorded content
	Retry                           // a person removed the marker of a node that was not done: run it again
	Unsettled                       // too early to tell: judge again at Until
)

func (k VerdictKind) String() string {
	return [...]string{"none", "ours", "adopt", "override", "failed by hand", "touched",
		"bad marker", "put back", "torn", "retry", "unsettled"}[k]
}

// Done reports whether the verdict is a person's decision that the node is done.
func (k VerdictKind) Done() bool { return k == Override || k == Touched }

// Verdict is the meaning of a node's marker.
type Verdict struct {
	Kind  VerdictKind
	Code  int       // of FailedByHand
	Until time.Time // of Unsettled
}

// Judge compares an observed marker with what is recorded. It is pure; now must come from
// the clock that set obs.Since. It uses neither the wall clock nor the order of file times.
func Judge(rec Recorded, obs Observed, now time.Time) Verdict {
	if !obs.Exists {
		return judgeMissing(rec, obs, now)
	}
	if rec.Known {
		old, new := rec.Identity, obs.Identity
		same := obs.Content == rec.Content
		switch {
		case same && old == new:
			return Verdict{Kind: Ours}
		case rec.Content.Kind == Bad:
			// A marker that cmux did not write can neither be torn nor put back.
		case old.Inode == new.Inode && old.MTime == new.MTime && !rec.Published:
			// A marker that was seen since the boot was whole: a person changed it within
			// one tick of the clock.
			return Verdict{Kind: Torn}
		case same && old.Inode == new.Inode && old.Size == new.Size:
			if rec.Content.Success() {
				return Verdict{Kind: Ours}
			}
			return Verdict{Kind: Touched}
		case same && old.Inode != new.Inode && obs.Content.Kind != Empty:
			return Verdict{Kind: Adopt}
		}
	}
	switch {
	case obs.Content.Kind == Bad:
		return Verdict{Kind: BadMarker}
	case obs.Content.Kind == Empty:
		if until := obs.Since.Add(Settle); now.Before(until) {
			return Verdict{Kind: Unsettled, Until: until}
		}
	}
	if obs.Content.Success() {
		return Verdict{Kind: Override}
	}
	return Verdict{Kind: FailedByHand, Code: obs.Content.Code}
}

func judgeMissing(rec Recorded, obs Observed, now time.Time) Verdict {
	if !rec.Known {
		return Verdict{Kind: None}
	}
	if !obs.DirGone {
		if until := obs.Since.Add(Settle); now.Before(until) {
			return Verdict{Kind: Unsettled, Until: until}
		}
		if rec.Published && !rec.Content.Success() {
			return Verdict{Kind: Retry}
		}
	}
	if rec.Content.Kind == Bad {
		return Verdict{Kind: None}
	}
	return Verdict{Kind: PutBack}
}
