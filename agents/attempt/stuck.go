package attempt

import (
	"errors"

	"cmux/agents/run"
)

// stuck says that the agent must not go on as it is: nothing guards it, or what
// it is told does not reach it.
type stuck struct{ why string }

func (s *stuck) Error() string { return s.why }

// talk is converse; an agent that is stuck is stopped and left to a person.
func (a *attempt) talk() error {
	for {
		a.talking = true
		err := a.converse()
		a.talking = false
		var s *stuck
		if !errors.As(err, &s) {
			return err
		}
		if over, err := a.halt(s.why); over || err != nil {
			return err
		}
	}
}

// halt ends the program of an agent that is stuck, and returns when the node is
// decided, over, or the agent at work again.
func (a *attempt) halt(why string) (over bool, err error) {
	if err := a.endAgent(); err != nil {
		return false, err
	}
	if a.overridden {
		a.note("%s", why)
		return true, nil
	}
	a.taken, a.turnEnded, a.question, a.limit, a.falter, a.done, a.judging, a.inPane = false, false, nil, nil, nil, nil, false, false
	a.stopBackground()
	a.openGate()
	return a.unreported(&run.Left{Exit: a.end.Exit, Detail: why})
}
