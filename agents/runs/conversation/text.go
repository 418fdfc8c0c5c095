package conversation

var phaseNames = [phases]string{
	"preparing", "working", "handing over", "hindered", "awaiting the turn's end", "asking", "limit met", "limited", "regaining", "backing off",
	"settling", "judging", "parting", "examining", "halting", "left", "resting", "reviving", "tallying", "closing",
}

func (p Phase) String() string { return phaseNames[p] }

func (c Clock) String() string {
	return [clocks]string{"input", "wake", "backoff", "settle", "background", "parting", "revive", "hindered", "slip", "answer"}[c]
}

func (w Why) String() string {
	return [...]string{"a person's words", "no report", "the limit is over", "a call failed", "the verdict", "unread words", "a message", "new work", "work taken back", "nothing kept", "compaction"}[w]
}

func (u Urgency) String() string { return [...]string{"patient", "urgent", "breaking"}[u] }

func (f Fate) String() string { return [...]string{"waits", "answered", "told", "lost"}[f] }

func (e Ending) String() string {
	return [...]string{"finished", "failed", "faulty", "cancelled", "stopped", "broken off"}[e]
}
