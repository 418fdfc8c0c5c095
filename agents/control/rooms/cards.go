package rooms

import "cmux/agents/room"

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
		if why := t.NeedsPerson(l.Work(t)); why != "" {
			all = append(all, Wait{What: "card " + t.ID + ": " + why, Try: "cmux cards show " + t.ID, Way: WayCard, Do: []room.Do{}, Holds: true, Since: t.ChangedAt})
		}
	}
	return all, nil
}
