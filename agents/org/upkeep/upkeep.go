// Package upkeep says what an organization no longer needs: workers that have nothing to
// do, windows of tmux, worktrees and branches that nobody owns, archives that have grown old. It is pure,
// and nothing in doubt is in what it says.
package upkeep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is a kind of thing.
type Kind string

const (
	Workers   Kind = "workers"
	Windows   Kind = "windows" // of tmux
	Worktrees Kind = "worktrees"
	Branches  Kind = "branches"
	Archives  Kind = "archives" // which are only told of
)

// Removable are the kinds that may be removed.
func Removable() []string {
	return []string{string(Workers), string(Windows), string(Worktrees), string(Branches)}
}

// Item is something that is no longer needed.
type Item struct {
	Kind Kind      `json:"kind"`
	Name string    `json:"name"`
	Why  string    `json:"why"`
	Do   string    `json:"do"` // what is done with it
	At   string    `json:"at,omitempty"`
	Old  time.Time `json:"since,omitzero"`
}

// Facts are what there is.
type Facts struct {
	Now      time.Time
	Idle     time.Duration // so long without work before a worker is one
	Age      time.Duration // of an archive
	Agents   []Agent
	Windows  []Window
	Trees    []Tree
	Branches []Branch
	Archives []Archive
}

// Agent is a standing agent.
type Agent struct {
	Name  string
	Stays bool      // a supervisor, a permanent worker, or one that only a person removes
	Busy  bool      // it works, has tasks or mail that waits, or a person is at it
	Since time.Time // it has had nothing to do; zero: not known
}

// Window is a window of tmux that cmux made for an agent, or for a node of a run.
type Window struct {
	Pane    string // its id
	Session string
	Run     string    // empty: it is the organization's
	Node    string    // or agent; empty: the monitor
	Owned   bool      // who it was made for is there, or somebody sees it
	Since   time.Time // nothing was shown in it
}

// Tree is a worktree that the organization lent.
type Tree struct {
	Path, Owner string
	Owned       bool // the agent is there, or may be made this moment
}

// Branch is a branch of the organization's.
type Branch struct {
	Name, Commit string
	Owned        bool // by an agent, or by a task that is not over
	Out          bool // it is checked out somewhere
	In           bool // all of it is in the integration branch
}

// Archive is what a worker that was removed, or reset, has left.
type Archive struct {
	Name string
	At   time.Time
	Size int64
}

// Find says what is no longer needed, and why. What is younger than it may be, by a
// clock that was set back as well, stays.
func Find(f Facts) (all []Item) {
	for _, a := range f.Agents {
		if idle := f.Now.Sub(a.Since); !a.Stays && !a.Busy && !a.Since.IsZero() && idle >= f.Idle {
			all = append(all, Item{Workers, a.Name, "it has had nothing to do for " + span(idle), "remove it as cmux workers kill does: its branch and its log stay, and what it had not committed is saved", "", a.Since})
		}
	}
	for _, w := range f.Windows {
		if quiet := f.Now.Sub(w.Since); !w.Owned && quiet >= f.Idle {
			whose := "that of " + w.Node + ", an agent which is gone"
			if w.Run != "" {
				whose = "that of " + w.Node + " of the run " + w.Run + ", which is gone"
			} else if w.Node == "" {
				whose = "the monitor of a run that is gone"
			}
			all = append(all, Item{Windows, w.Pane, fmt.Sprintf("it is %s, in the session %s, and has shown nothing new for %s", whose, w.Session, span(quiet)),
				"keep its last screen in the archives and close it; with the last window its session ends", strings.Trim(w.Session+"/"+w.Run+"/"+w.Node, "/"), w.Since})
		}
	}
	for _, t := range f.Trees {
		if !t.Owned {
			all = append(all, Item{Kind: Worktrees, Name: t.Path, Why: "it was " + t.Owner + "'s, which is gone", Do: "save what is in it and remove it; its branch stays"})
		}
	}
	for _, b := range f.Branches {
		if !b.Owned && !b.Out && b.In {
			all = append(all, Item{Kind: Branches, Name: b.Name, Why: "nobody works on it, and all of it is in the integration branch", Do: "remove the branch; its commits stay in the integration branch", At: b.Commit})
		}
	}
	for _, a := range f.Archives {
		if age := f.Now.Sub(a.At); age >= f.Age {
			all = append(all, Item{Kind: Archives, Name: a.Name, Why: fmt.Sprintf("it is %s old and has %d kB", span(age), (a.Size+1023)/1024), Do: "nothing: remove it by hand when you do not need it", Old: a.At})
		}
	}
	order := append(Removable(), string(Archives))
	slices.SortStableFunc(all, func(a, b Item) int {
		return cmp.Or(cmp.Compare(slices.Index(order, string(a.Kind)), slices.Index(order, string(b.Kind))), strings.Compare(a.Name, b.Name))
	})
	return all
}

func span(d time.Duration) string {
	if d >= 48*time.Hour {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.Truncate(time.Minute).String()
}
