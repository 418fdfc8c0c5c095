package rooms

import (
	"strings"

	"cmux/agents/room"
)

// cardWaits are the cards of a room that go on only when the person does something.
func cardWaits(p *Rooms, name string) (all []Wait, err error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	for _, t := range l.All() {
		if t.Card == nil || t.Card.Room != name {
			continue
		}
		why := t.NeedsPerson(l.Work(t))
		switch c := t.Card; {
		case c.Stuck != "" && c.Way != "" && c.Waits == "" && why != "":
			run, _, _ := strings.Cut(c.Node, "/")
			all = append(all, Wait{What: "card " + t.ID + ": " + c.Stands, Try: c.Way, Way: WayCommand, Node: run + "/" + c.Stuck, Do: []room.Do{}, Holds: true, Since: t.ChangedAt})
		case why != "" && t.Card.Rejected():
			all = append(all, Wait{What: "card " + t.ID + ": " + why, Try: "cmux cards show " + t.ID + "; cmux rooms start --about task:" + t.ID, Way: WayCard, Do: []room.Do{}, Holds: true, Since: t.ChangedAt})
		case why != "":
			all = append(all, Wait{What: "card " + t.ID + ": " + why, Try: "cmux cards show " + t.ID, Way: WayCard, Do: []room.Do{}, Holds: true, Since: t.ChangedAt})
		}
	}
	return all, nil
}
