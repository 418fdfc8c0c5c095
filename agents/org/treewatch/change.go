package treewatch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/platform/fence"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/say"
	"cmux/agents/records/event"
	"cmux/agents/records/incident"
	"cmux/agents/room/book"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree/footprint"
)

// What was changed while members were in a turn becomes an incident, unless somebody else is
// known who may have done it.

// Kind is that of the incidents, which are about the room.
const Kind = "room"

// mostFence bounds the file with what a fence allows.
const mostFence = 1 << 20

// Undo is what a person can take back: it is in the room's folder, under the name that
// UndoFile makes of its sum.
type Undo struct {
	Root   string           `json:"root"`
	Before *footprint.Print `json:"before"`
	After  *footprint.Print `json:"after"`
}

// UndoFile is the file of a change in the project at root.
func UndoFile(root, roomName, sum string) string {
	return filepath.Join(run.Folder(root), book.Folder, roomName, "undo", sum+".json")
}

// UndoID is the part of a change's sum that a person names it by.
func UndoID(sum string) string { return sum[:min(8, len(sum))] }

// UndoSum is the pattern of a sum in the evidence of an incident, which is sealed.
var UndoSum = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(change ([0-9a-f]{64})\)`) })

// KeptOut reports whether a fence kept the agent of this attempt from writing there; file is
// that of its fence.
func (f *Change) KeptOut(file string, attempt int) bool {
	b, err := signals.ReadFile(file, mostFence)
	var is run.Fence
	if err != nil || json.Unmarshal(b, &is) != nil || is.Attempt != attempt {
		return false
	}
	around := fence.Fence{Write: is.Write}
	for _, name := range slices.Concat(f.what.Files, f.what.Index, f.committed, []string{".git"}) {
		if !around.Refuses(filepath.Join(f.Root, name)) {
			return false
		}
	}
	return true
}

// Reports are the incidents of a change, for the turns of one room.
func (f *Change) Reports(root, roomName string, events func(agent string) string) (all []*incident.Report, err error) {
	if f.unread != nil {
		all = append(all, f.unreadReport(roomName))
	}
	if !f.what.None() {
		r, err := f.Report(root, roomName, events)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if len(f.shared) > 0 {
		all = append(all, f.sharedReport(roomName))
	}
	return all, nil
}

// Report is the incident of a changed checkout, for the turns of one room. What can be taken back is in
// the room's folder when it returns. events is the file with the events of an agent.
func (f *Change) Report(root, roomName string, events func(agent string) string) (*incident.Report, error) {
	text, err := json.Marshal(Undo{Root: f.Root, Before: f.before, After: f.after})
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(text)
	sum := hex.EncodeToString(hash[:])
	file := UndoFile(root, roomName, sum)
	if err := signals.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	if err := signals.PutFile(file, text, 0o600); err != nil {
		return nil, err
	}
	calls := f.calls(events)
	return &incident.Report{
		Kind: Kind, About: roomName, Key: Kind + "/" + roomName + "/" + strings.Join(f.members(), ","),
		Title: fmt.Sprintf("room %s: %s %s", roomName, f.suspects(calls), f.did()),
		Note: incident.Note{
			Evidence: f.evidence(sum, calls),
			Advice:   &incident.Advice{Text: "If it was you, nothing is wrong. Otherwise this takes the last change back, after a snapshot of what is there:", Command: "cmux rooms undo " + roomName + " " + UndoID(sum)},
		},
	}, nil
}

// members are those that were in a turn.
func (f *Change) members() (all []string) {
	for _, t := range f.Turns {
		if !slices.Contains(all, t.Member) {
			all = append(all, t.Member)
		}
	}
	slices.Sort(all)
	return all
}

// suspects names who did it, as far as that is known.
func (f *Change) suspects(calls []call) string {
	var sure []string
	for _, c := range calls {
		if !slices.Contains(sure, c.member) {
			sure = append(sure, c.member)
		}
	}
	if len(sure) == 1 {
		return sure[0]
	}
	return strings.Join(f.members(), " or ") + " (or you)"
}

// did says what was done, in a few words.
func (f *Change) did() string {
	var all []string
	if files := f.named(); len(files) > 0 {
		all = append(all, "changed "+say.List(files, 3))
	}
	if f.what.Head {
		all = append(all, "moved "+f.moved())
	}
	if len(f.what.Index) > 0 {
		all = append(all, "staged "+say.List(f.what.Index, 3)+" otherwise")
	}
	return strings.Join(all, ", ")
}

// named are the files whose content is another, committed or not.
func (f *Change) named() []string {
	all := slices.Concat(f.what.Files, f.committed)
	slices.Sort(all)
	return slices.Compact(all)
}

func (f *Change) moved() string {
	was, is := branchName(f.before.Branch), branchName(f.after.Branch)
	if was == is {
		return fmt.Sprintf("%s from %s to %s", was, shortID(f.before.Commit), shortID(f.after.Commit))
	}
	return fmt.Sprintf("the checkout from %s to %s, at %s", was, is, shortID(f.after.Commit))
}

func branchName(ref string) string {
	if ref == "" {
		return "HEAD"
	}
	return strings.TrimPrefix(ref, "refs/heads/")
}

func shortID(commit string) string {
	if commit == "" {
		return "no commit"
	}
	return commit[:min(12, len(commit))]
}

// evidence is what is known of the change.
func (f *Change) evidence(sum string, calls []call) []incident.Evidence {
	text := fmt.Sprintf("%s, %s (change %s)", f.did(), f.where(), sum)
	all := incident.Saw(text)
	for _, c := range calls {
		all = append(all, incident.Evidence{At: c.at, Text: c.member + " called " + c.text})
	}
	return all
}

// where says where and when something was changed, and who may have done it.
func (f *Change) where() string {
	var turns []string
	for _, t := range f.Turns {
		turns = append(turns, t.Turn+" of "+t.Member)
	}
	clock := func(at time.Time) string { return at.Local().Format("15:04:05") }
	return fmt.Sprintf("in %s, between %s and %s. Turns under way: %s. No fence kept their members from it, cmux did not do it, and no other agent worked there.",
		f.Root, clock(f.Since), clock(f.Until), strings.Join(turns, ", "))
}

// call is a call of a tool that explains the change.
type call struct {
	member, text string
	at           time.Time
}

const (
	// lastEvents is as much of a member's events as is searched for the calls of a turn.
	lastEvents = 4 << 20
	// mostCalls bounds the calls that an incident names.
	mostCalls = 5
	// mostCall is how much of a call is shown, in bytes.
	mostCall = 500
)

// writes matches a call of a tool that writes: what may as well read is none, since it would
// clear the person.
var writes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[^-=<>])>+\s*[^\s&>=]|\b(write|edit|multiedit|create|patch|tee|touch|rm|mv|cp|ln|chmod|truncate|dd)\b|\bsed\s+(-\S+\s+)*-[a-z]*i|` + gitWrites)
})

// gitWrites matches a command of git that changes a checkout.
const gitWrites = `\bgit\s+(-[cC]\s+\S+\s+)*(add|am|apply|branch|checkout|cherry-pick|commit|merge|mv|pull|rebase|reset|restore|revert|rm|stash|switch|symbolic-ref|update-index|update-ref)\b`

// gits matches such a command.
var gits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(gitWrites) })

// quiet matches where a command sends what it prints to nobody.
var quiet = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9&]?>+\s*(/dev/null|&[0-9])`) })

// calls are those of the members' tools that name what was changed, and may have done it.
func (f *Change) calls(events func(agent string) string) (all []call) {
	for _, t := range f.Turns {
		file, from := events(t.Agent), int64(0)
		if info, err := os.Stat(file); err == nil {
			from = max(0, info.Size()-lastEvents)
		}
		// What cannot be read names nothing.
		_, _ = event.Replay(file, from, func(e event.Event, _ int64) error {
			text := strings.TrimSpace(e.Tool + " " + event.Whole(e.Input))
			if e.Kind != event.ToolUse || e.At.Before(t.Began) || e.At.After(f.Until) || len(all) >= mostCalls || !writes().MatchString(quiet().ReplaceAllString(text, "")) || !f.names(text) {
				return nil
			}
			all = append(all, call{member: t.Member, text: harmless.Line(incident.Cut(text, mostCall)), at: e.At})
			return nil
		})
	}
	return all
}

// names reports whether a call names what was changed.
func (f *Change) names(text string) bool {
	if (f.what.Head || len(f.what.Index) > 0) && gits().MatchString(text) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(f.named(), f.what.Index), func(name string) bool { return strings.Contains(text, path.Base(name)) })
}
