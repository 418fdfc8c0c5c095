package signals

import "time"

// Settle is how long a marker must have stayed empty, or away, before that
// counts: `echo $? > f` leaves f empty for an instant, an editor that saves
// takes it away for one, and the writer of a recorded marker is a few system
// calls behind its record.
const Settle = 50 * time.Millisecond

// Recorded is what the run's records know of a node's marker. The zero value
// means that they know of none.
type Recorded struct {
	Known bool
	Marker

	// Published says that the marker is known to have stood in the folder
	// since the machine was booted. A power cut may take a marker away that
	// was seen before it, and then nobody removed it.
	Published bool
}

// Observed is what lay in the signals folder under a node's name.
type Observed struct {
	Exists  bool
	DirGone bool // the folder was missing or replaced since the marker was last seen
	Marker
	Changed time.Time // the last change of the file, by the clock of its file system; zero: not known
	Problem string    // why the content is Bad, for people
	Since   time.Time // when the observer first saw it as it is, by its own clock
}

// VerdictKind says what a marker means.
type VerdictKind uint8

const (
	None         VerdictKind = iota // no record, no file
	Ours                            // as recorded, or a touch of a done one: nothing to do
	Adopt                           // another file that says what is recorded (a copy, a restored backup): record its identity
	Override                        // a person says done
	FailedByHand                    // a person says failed, with Code
	Touched                         // a person touched a marker that is not 0: empty it with Replace, then Override
	BadMarker                       // not a marker: name it, never done
	PutBack                         // missing: publish the recorded content again
	Torn                            // what a power cut left of ours: Replace it by the recorded content
	Retry                           // a person removed the marker of a node that was not done: rerun it
	Unsettled                       // too early to tell: judge again at Until
)

func (k VerdictKind) String() string {
	return [...]string{"none", "ours", "adopt", "override", "failed by hand", "touched",
		"bad marker", "put back", "torn", "retry", "unsettled"}[k]
}

// Done reports whether a person's marker calls its node done.
func (k VerdictKind) Done() bool { return k == Override || k == Touched }

// Verdict is what a marker means for its node.
type Verdict struct {
	Kind  VerdictKind
	Code  int       // of FailedByHand
	Until time.Time // of Unsettled
}

// Judge says what an observed marker means beside what is recorded. It is
// pure; now is of the clock that set obs.Since. Of the wall clock and the
// order of times on files it knows nothing.
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
			// What cmux did not write can neither be torn nor put back.
		case old.Inode == new.Inode && old.MTime == new.MTime && !rec.Published:
			// One that stood there since the boot was whole: a person changed it
			// within one tick of the clock.
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
