package rooms

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/org/treewatch"
	"cmux/agents/records/incident"
	"cmux/agents/room"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/footprint"
	"cmux/worktree/hint"
)

// mostUndo bounds the file of a change.
const mostUndo = 64 << 20

// Undone is what was taken back.
type Undone struct {
	Room     string            `json:"room"`
	Incident string            `json:"incident"`
	Root     string            `json:"root"`
	Snapshot string            `json:"snapshot"` // of what was there; empty: all was committed
	What     *footprint.Undone `json:"what"`
}

// incidents are those of a room that are open, oldest first.
func (p *Rooms) incidents(name string) ([]*incident.Incident, error) {
	l, err := p.Records.AllIncidents()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(l.All(), func(i *incident.Incident) bool {
		return i.Kind != treewatch.Kind || i.About != name || i.State != incident.Open
	}), nil
}

// sums are the changes of an incident, oldest first.
func sums(i *incident.Incident) (all []string) {
	for _, e := range i.Evidence {
		if m := treewatch.UndoSum().FindStringSubmatch(e.Text); m != nil {
			all = append(all, m[1])
		}
	}
	return all
}

// Undo takes back what was changed at the checkout while members of a room were in a turn: the
// change of this id, or the newest. What is there is saved as a snapshot first.
func (p *Rooms) Undo(ctx context.Context, name, id string) (*Undone, error) {
	if _, _, _, err := p.Open(name); err != nil {
		return nil, err
	}
	all, err := p.incidents(name)
	if err != nil {
		return nil, err
	}
	for _, i := range slices.Backward(all) {
		of := sums(i)
		for n, sum := range slices.Backward(of) {
			if strings.HasPrefix(sum, id) {
				return p.undo(ctx, name, i, of, n)
			}
		}
	}
	if id == "" && len(all) > 0 {
		return nil, hint.New(project.Tag(fmt.Errorf("what git does in the room %s is taken back by the commands in its incident: nothing was undone", name), project.ErrMissing), "cmux incidents show "+all[len(all)-1].ID)
	}
	what := fmt.Errorf("no change %q in an open incident of the room %s", id, name)
	if id == "" {
		what = fmt.Errorf("the room %s has no open incident: nothing was undone", name)
	}
	return nil, hint.New(project.Tag(what, project.ErrMissing), "cmux incidents list --about "+name)
}

func (p *Rooms) undo(ctx context.Context, name string, i *incident.Incident, of []string, n int) (*Undone, error) {
	file := treewatch.UndoFile(p.Root, name, of[n])
	text, err := signals.ReadFile(file, mostUndo)
	if err != nil {
		return nil, fmt.Errorf("what was there before is not known any more: %w", err)
	}
	var c treewatch.Undo
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != of[n] {
		return nil, fmt.Errorf("%s was changed since cmux wrote it: nothing was undone", file)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, c.Root)
	if err != nil {
		return nil, err
	}
	out := &Undone{Room: name, Incident: i.ID, Root: c.Root}
	out.What, err = footprint.Undo(ctx, &repo.Repo, c.Root, c.Before, c.After, func() error {
		s, err := repo.Snapshot(ctx, c.Root, worktree.SnapshotSpec{Name: "room-" + name, Reason: "before cmux rooms undo " + name + " " + treewatch.UndoID(of[n])})
		if s != nil {
			out.Snapshot = s.ID
		}
		return err
	})
	if errors.Is(err, footprint.ErrSince) || errors.Is(err, footprint.ErrInTheWay) {
		return nil, hint.New(fmt.Errorf("nothing was undone: %w", err), "cmux incidents show "+i.ID)
	}
	if err != nil {
		return nil, err
	}
	p.audit(ctx, "undo", name)
	return out, p.closes(ctx, name, i, of[:n], out)
}

// closes closes the incident of a change that was taken back, unless there are earlier ones.
func (p *Rooms) closes(ctx context.Context, name string, i *incident.Incident, earlier []string, u *Undone) error {
	b, err := incident.OpenBook(p.Root, p.Now, true)
	if err != nil {
		return err
	}
	result := "undone"
	if u.Snapshot != "" {
		result += "; what was there: cmux snapshots restore " + u.Snapshot
	}
	if u.What.Kept != "" {
		result += "; the commit that was checked out: " + u.What.Kept
	}
	did := incident.Note{Deeds: incident.Did("cmux rooms undo "+name, result)}
	if len(earlier) > 0 {
		id := treewatch.UndoID(earlier[len(earlier)-1])
		did.Advice = &incident.Advice{Text: "The last change is undone. This takes back the one before, if it was not you:", Command: "cmux rooms undo " + name + " " + id}
		_, err = b.Append(ctx, i.ID, room.User, did)
		return err
	}
	_, err = b.Close(ctx, i.ID, room.User, result, did)
	if errors.Is(err, incident.ErrClosed) {
		return nil
	}
	return err
}

// looks are the incidents of a room that the person has not seen.
func (p *Rooms) looks(name string) (all []Wait, err error) {
	open, err := p.incidents(name)
	for _, i := range open {
		if i.Waits() {
			w := Wait{What: strings.TrimPrefix(i.Title, "room "+name+": "), Try: "cmux incidents show " + i.ID, Way: WayUndo, Do: []room.Do{}, Incident: i.ID}
			if len(sums(i)) == 0 { // what takes it back stands in it
				w.Way, w.Incident = WayCommand, ""
			}
			all = append(all, w)
		}
	}
	return all, err
}
