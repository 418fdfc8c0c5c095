package conversation

import "fmt"

// Waits are the ids of the messages that the agent is not known to have read, each
// with what it waits for.
func (s *State) Waits() map[string]string {
	all := map[string]string{}
	note := func(m Message, why string) {
		for _, p := range m.split() {
			if p.Why == FromMail {
				all[p.ID] = why
			}
		}
	}
	for _, p := range s.Unseen {
		why := "its conversation to show it"
		if p.tries >= maxTries-1 {
			why = fmt.Sprintf("its conversation to show it, after %d deliveries", p.tries+1)
		}
		note(p, why)
	}
	for _, p := range s.Unproven {
		note(p, "a sign that it has read it")
	}
	// What is urgent takes along what stands before it.
	urgency := Patient
	for i := len(s.Pending) - 1; i >= 0; i-- {
		urgency = max(urgency, s.Pending[i].Urgency)
		note(s.Pending[i], s.pendingFor(urgency))
	}
	if s.handing() {
		note(s.Handed, s.pendingFor(max(urgency, s.Handed.Urgency)))
	}
	return all
}

// pendingFor is what keeps something of that urgency from being handed over.
func (s *State) pendingFor(u Urgency) string {
	switch s.Phase {
	case Preparing, Reviving:
		return starts
	case Examining, Halting, Left:
		return "its program, which has ended"
	case Closing:
		return "its end"
	}
	if s.Taken {
		return "the end of a takeover"
	}
	switch s.Phase {
	case Hindered:
		return s.hindrance()
	case Handing:
		return "its program to take what is on its way"
	case Asking:
		if s.Open.InPane {
			return "a dialog of its program: " + oneLine(s.Open.String())
		}
		return "the answer to its question: " + oneLine(s.Open.String())
	case Limiting, Limited:
		return "the end of a limit"
	case Regaining:
		return "a slot"
	case BackingOff:
		return "the model, whose last call failed"
	case Settling, Judging, Parting:
		return "the checks of its report"
	}
	switch {
	case u == Breaking && s.CanBreak:
		return "its turn to be broken off"
	case u > Patient:
		return "its next tool call"
	}
	return "the end of its turn"
}
