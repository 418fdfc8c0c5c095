package proc

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
