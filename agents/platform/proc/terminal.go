package proc

// Controlling returns the controlling terminal of the calling process, 0 if it has none,
// and the leader of its session, that process's parent, and so on. A terminal lives no
// longer than its session's leader, which the owner of the terminal started. If the leader
// is not visible here, the error is ErrGone.
func Controlling() (device uint64, leader []Ancestor, err error) {
	st, err := statOf(caller())
	if err != nil || st.terminal == 0 {
		return 0, nil, err
	}
	leader, err = lineage(st.session)
	return st.terminal, leader, err
}

// Terminals returns the device numbers of the terminals of attempts' processes: a program,
// not a person, may type there.
func Terminals() (map[uint64]bool, error) {
	of, err := prove(func(st stat) bool { return variable(st.pid, AttemptVar) != "" })
	if err != nil {
		return nil, err
	}
	found := map[uint64]bool{}
	for _, p := range of {
		if st, err := statOf(p.PID); err == nil && st.terminal != 0 {
			found[st.terminal] = true
		}
	}
	return found, nil
}
