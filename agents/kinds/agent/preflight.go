package agent

// Setup is where and how nodes of a kind are to run.
type Setup struct {
	Env        []string // that the run is frozen with
	Root       string   // the project's; its worktrees inherit its trust. Empty: there is none
	Headless   bool
	AutoAccept bool     // some node has it
	Asks       bool     // some node has not
	Programs   []string // that nodes name themselves, for a kind that leaves it to them
}

// Problem is something that would keep a kind's program from working
// unattended.
type Problem struct {
	What  string
	Try   string // the way out
	Fatal bool   // no node of this kind can run; otherwise it is worth a warning
}

// Fitness is what a look at a kind's program found before a node was started.
type Fitness struct {
	Facts    []string // what is in order: its version, that it is logged in
	Problems []Problem
}

// Fact notes something that is in order.
func (f *Fitness) Fact(what string) { f.Facts = append(f.Facts, what) }

// Fatal notes what no node of the kind can run with.
func (f *Fitness) Fatal(what, try string) {
	f.Problems = append(f.Problems, Problem{what, try, true})
}

// Warn notes what is worth a warning.
func (f *Fitness) Warn(what, try string) {
	f.Problems = append(f.Problems, Problem{what, try, false})
}
