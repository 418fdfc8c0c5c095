package proc

// Controlling is the controlling terminal of the calling process, 0 where it
// has none, and the leader of its session, that one's parent, and so on: a
// terminal lives no longer than the process that leads its session, which
// whoever is behind the terminal has started there. Where the leader is not
// among the processes that are seen here, the error is ErrGone.
func Controlling() (device uint64, leader []Ancestor, err error) {
	st, err := statOf(caller())
	if err != nil || st.terminal == 0 {
		return 0, nil, err
	}
	leader, err = lineage(st.session)
	return st.terminal, leader, err
}

// Terminals are the device numbers of the terminals that processes of attempts
// have: what is typed there, a program may have typed.
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
