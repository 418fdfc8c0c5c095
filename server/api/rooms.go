package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control/commands"
	"cmux/agents/control/rooms"
	"cmux/agents/records/ledger"
	"cmux/agents/room"
)

type RoomIn struct {
	Room string `path:"room" maxLength:"100" doc:"Name of a room"`
}

type MemberIn struct {
	RoomIn
	Name string `path:"name" maxLength:"100" doc:"Name of a member in the room"`
}

// newRoom is a room to be made.
type newRoom struct {
	Name     string       `json:"name,omitempty" maxLength:"100" doc:"Letters, digits, - and _; empty: the first free one of room, room-2, …"`
	Members  []string     `json:"members,omitempty" maxItems:"16" doc:"Each KIND[=NAME][:ROLE]; none: every program that is installed and ready"`
	Pane     bool         `json:"pane,omitempty" doc:"Members work in windows of tmux"`
	Settings rooms.Change `json:"settings,omitzero" doc:"What differs from the defaults, which are those of rooms: in .cmux/config.yml"`
}

func (n *newRoom) start() rooms.Start {
	return rooms.Start{Name: n.Name, Members: n.Members, Pane: n.Pane, Settings: n.Settings}
}

// plannedRoom is a room that could be made.
type plannedRoom struct {
	Name    string    `json:"name"`
	Remarks []string  `json:"remarks" doc:"What is worth knowing about the members' programs"`
	Cost    room.Cost `json:"cost" doc:"Estimate of a first question to all"`
}

// invited is somebody who is to join.
type invited struct {
	Who   string `json:"who" minLength:"1" maxLength:"200" doc:"KIND[=NAME][:ROLE]; of a guest the name of the agent"`
	Guest bool   `json:"guest,omitempty" doc:"An agent of the organization, which takes no turns"`
	Pane  bool   `json:"pane,omitempty" doc:"The member works in a window of tmux"`
}

// removedRoom is where a removed room is.
type removedRoom struct {
	Archive string `json:"archive" doc:"Its folder"`
}

// madeRoom is a room that was made, or that somebody joined.
type madeRoom struct {
	rooms.View
	Remarks []string `json:"remarks" doc:"What is worth knowing about the members' programs"`
}

// roomLog is a page of the lines of a room.
type roomLog struct {
	Items []room.Line `json:"items"`
	Next  int64       `json:"next,omitempty" doc:"after of the next page; absent: this is the last page"`
}

// roomStatus is how a room stands, for who asks often.
type roomStatus struct {
	Label   string            `json:"label"`
	Phase   room.Phase        `json:"phase"`
	Round   int               `json:"round"`
	Used    int64             `json:"used" doc:"Tokens in the round"`
	Total   int64             `json:"total" doc:"Tokens in all rounds"`
	Members map[string]string `json:"members" doc:"State of each"`
	Waits   []rooms.Wait      `json:"waits" doc:"What waits for you"`
}

// roomCheck is what a check of a room's file found.
type roomCheck struct {
	Lines  int           `json:"lines" doc:"Lines that count"`
	Broken []room.Broken `json:"broken" doc:"Rules of rooms that the lines break"`
	Bad    []ledger.Bad  `json:"bad" doc:"Lines that do not count"`
}

// rooms adds the routes of rooms.
func (r *routes) rooms() {
	r.personas()
	const group, path, one = "rooms", "/api/rooms", "/api/rooms/{room}"
	p := r.Project
	get(r, group, path, "List the rooms, newest change first", func(_ context.Context, i *struct{ Paging }) (List[rooms.View], error) {
		all, err := p.Rooms().List()
		if err != nil {
			return List[rooms.View]{}, err
		}
		return page(all, i.Paging, func(v *rooms.View) string { return v.Room.Name })
	})
	post(r, group, path, "Start a room", func(ctx context.Context, i *struct{ Body newRoom }) (madeRoom, error) {
		b := &i.Body
		s, err := p.Rooms().Plan(ctx, b.start())
		if err != nil {
			return madeRoom{}, err
		}
		v, err := p.Rooms().Create(ctx, s)
		if err != nil {
			return madeRoom{}, err
		}
		return madeRoom{*v, s.Remarks}, nil
	}, func(op *huma.Operation) { op.DefaultStatus = http.StatusCreated })
	post(r, group, path+"/plan", "Say what a room would be, and what a first question costs; nothing is made", func(ctx context.Context, i *struct{ Body newRoom }) (plannedRoom, error) {
		s, err := p.Rooms().Plan(ctx, i.Body.start())
		if err != nil {
			return plannedRoom{}, err
		}
		return plannedRoom{s.Name, s.Remarks, s.Cost}, nil
	})
	get(r, group, one, "Show a room: its members and what they do, and what waits for you", func(_ context.Context, i *RoomIn) (*rooms.View, error) {
		return p.Rooms().Show(i.Room)
	})
	get(r, group, one+"/status", "Show how a room stands", func(_ context.Context, i *RoomIn) (*roomStatus, error) {
		v, err := p.Rooms().Show(i.Room)
		if err != nil {
			return nil, err
		}
		s := &roomStatus{Label: v.Room.Label, Phase: v.Room.Phase, Round: v.Room.Round, Used: v.Room.Used, Total: v.Room.Total, Members: map[string]string{}, Waits: v.Waits}
		for _, m := range v.Members {
			s.Members[m.Name] = m.State
		}
		return s, nil
	})
	add(r, http.MethodPatch, group, one, "Change the settings of a room", func(ctx context.Context, i *struct {
		RoomIn
		Body rooms.Change
	}) (*rooms.View, error) {
		return p.Rooms().Change(ctx, i.Room, i.Body)
	})
	get(r, group, one+"/settings", "List the settings of a room, each with where it comes from and what the room inherits", func(_ context.Context, i *RoomIn) (List[rooms.Setting], error) {
		all, err := rooms.Settings(p.Rooms(), i.Room)
		return List[rooms.Setting]{Items: all}, err
	})
	add(r, http.MethodDelete, group, one, "Remove a room; what was said is kept in the archives", func(ctx context.Context, i *RoomIn) (removedRoom, error) {
		archive, err := p.Rooms().Remove(ctx, i.Room)
		return removedRoom{archive}, err
	})
	get(r, group, one+"/export", "Show a room as Markdown, or as its facts with a line of JSON each", func(_ context.Context, i *struct {
		RoomIn
		Format rooms.Format `query:"format" default:"md" enum:"md,json" doc:"md or json"`
	}) (text, error) {
		s, err := p.Rooms().Export(i.Room, i.Format)
		return text{s}, err
	})
	post(r, group, one+"/members", "Invite a member or a guest into a room", func(ctx context.Context, i *struct {
		RoomIn
		Body invited
	}) (madeRoom, error) {
		remarks, err := p.Rooms().Invite(ctx, i.Room, i.Body.Who, i.Body.Guest, i.Body.Pane)
		if err != nil {
			return madeRoom{}, err
		}
		v, err := p.Rooms().Show(i.Room)
		if err != nil {
			return madeRoom{}, err
		}
		return madeRoom{*v, remarks}, nil
	})
	add(r, http.MethodDelete, group, one+"/members/{name}", "Dismiss a member or a guest from a room", func(ctx context.Context, i *MemberIn) (*rooms.View, error) {
		if err := p.Rooms().Dismiss(ctx, i.Room, i.Name); err != nil {
			return nil, err
		}
		return p.Rooms().Show(i.Room)
	})
	get(r, group, one+"/messages", "List what was said in a room, newest first", func(_ context.Context, i *struct {
		RoomIn
		Paging
	}) (List[rooms.Message], error) {
		before, err := seqCursor(i.Cursor)
		if err != nil {
			return List[rooms.Message]{}, err
		}
		all, more, err := p.Rooms().Messages(i.Room, before, i.Limit)
		l := List[rooms.Message]{Items: all}
		if more {
			l.Next = toSeq(all[len(all)-1].N)
		}
		return l, err
	})
	post(r, group, one+"/messages", "Say something in a room", func(ctx context.Context, i *struct {
		RoomIn
		Body rooms.Say
	}) (*rooms.Said, error) {
		return p.Rooms().Say(ctx, i.Room, i.Body)
	})
	r.roomFiles(group, one+"/files")
	r.roomPlan(group, one)
	get(r, group, one+"/log", "List the facts of a room, oldest first", func(_ context.Context, i *struct {
		RoomIn
		After int64 `query:"after" minimum:"0" doc:"Lines with larger numbers"`
		Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of lines"`
	}) (roomLog, error) {
		some, more, err := p.Rooms().Log(i.Room, i.After, i.Limit)
		l := roomLog{Items: some}
		if more {
			l.Next = some[len(some)-1].N
		}
		return l, err
	})
	post(r, group, one+"/orders", "Give an order in a room", func(ctx context.Context, i *struct {
		RoomIn
		Body rooms.Order
	}) (*rooms.View, error) {
		return p.Rooms().Order(ctx, i.Room, i.Body)
	})
	post(r, group, one+"/cost", "Estimate the tokens that a message would use", func(_ context.Context, i *struct {
		RoomIn
		Body struct {
			To   string `json:"to,omitempty" doc:"Member, of a direct message"`
			Text string `json:"text,omitempty"`
		}
	}) (room.Cost, error) {
		return p.Rooms().Cost(i.Room, i.Body.To, i.Body.Text)
	})
	get(r, group, one+"/turns/{turn}/prompt", "Show what a turn gave its member", func(_ context.Context, i *struct {
		RoomIn
		Turn string `path:"turn" maxLength:"20" doc:"Id of a turn, such as t1"`
	}) (text, error) {
		s, err := p.Rooms().Prompt(i.Room, i.Turn)
		if err != nil {
			return text{}, err
		}
		return text{s.Text}, nil
	})
	post(r, group, one+"/members/{name}/answer", "Answer what a member, or its program, asks you", func(ctx context.Context, i *struct {
		MemberIn
		Body struct {
			Text string `json:"text" minLength:"1"`
		}
	}) (commands.Answered, error) {
		return p.Rooms().Answer(ctx, i.Room, i.Name, i.Body.Text)
	})
	get(r, group, one+"/decisions", "List what was proposed in a room, oldest first, with how it was decided", func(_ context.Context, i *struct {
		RoomIn
		Paging
	}) (List[rooms.Decision], error) {
		all, err := p.Rooms().Decisions(i.Room)
		if err != nil {
			return List[rooms.Decision]{}, err
		}
		return page(all, i.Paging, func(d *rooms.Decision) string { return d.ID })
	})
	post(r, group, one+"/decisions", "Ask the members of a room about a proposal, or decide on it", func(ctx context.Context, i *struct {
		RoomIn
		Body rooms.Decide
	}) (*rooms.Decision, error) {
		return p.Rooms().Decide(ctx, i.Room, i.Body)
	})
	post(r, group, one+"/undo", "Take back what was changed at the checkout during turns of a room, after a snapshot", func(ctx context.Context, i *struct {
		RoomIn
		Body struct {
			Change string `json:"change,omitempty" maxLength:"64" pattern:"^[0-9a-f]*$" doc:"Id of the change; empty: the newest"`
		}
	}) (*rooms.Undone, error) {
		return p.Rooms().Undo(ctx, i.Room, i.Body.Change)
	})
	get(r, group, one+"/check", "Check a room's file against the rules of rooms", func(_ context.Context, i *RoomIn) (c roomCheck, err error) {
		c.Broken, c.Bad, c.Lines, err = p.Rooms().Check(i.Room)
		return c, err
	})
}
