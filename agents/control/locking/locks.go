// Package locking takes, releases and shows the locks by which agents and a person share
// what only one may use at a time.
package locking

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"cmux/agents/control/letters"
	"cmux/agents/control/project"
	"cmux/agents/platform/proc"
	"cmux/agents/records/locks"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree/hint"
)

// Locks are the locks of a project.
type Locks struct {
	*project.Project
	Letters *letters.Letters
}

// LockReport is a lock as it is shown.
type LockReport struct {
	Name    string       `json:"name"`
	Holder  *LockHolder  `json:"holder"` // null: it goes to the first who waits
	Note    string       `json:"note,omitempty"`
	Since   *time.Time   `json:"since"`
	Waiting []LockHolder `json:"waiting"`
}

// LockHolder is who has a lock or waits for one.
type LockHolder struct {
	Who string `json:"who"`
	PID int    `json:"pid,omitempty"` // of the process with which it ends
}

// TakeLock is a wish for a lock.
type TakeLock struct {
	Name, Note string
	Wait       time.Duration // how long to wait at the most; below 0: as long as it takes
	Process    bool          // it ends with this process, or with PID
	PID        int           // of a process that this one takes it for; 0: none
}

// lockBook is the book of the project's locks.
func (p *Locks) lockBook(write bool) (*locks.Book, error) {
	return locks.OpenBook(p.Root, p.holds(), p.Now, write)
}

// holds says who lives of those who hold locks or wait for them.
func (p *Locks) holds() locks.Live {
	boot := proc.BootID()
	return func(h locks.Holder) bool {
		if h.PID > 0 && (h.Boot != boot || !proc.Identity{PID: h.PID, Start: h.Start}.Alive()) {
			return false
		}
		if h.Of == "" {
			return true // a person
		}
		at, held, err := p.wrapperOf(h)
		return err == nil && held && at.PID == h.Wrapper
	}
}

// wrapperOf is the process that carries a holder's life, where one does.
func (p *Locks) wrapperOf(h locks.Holder) (signals.Holder, bool, error) {
	open := run.OpenOrganization
	if h.Of != run.OrganizationID {
		open = func(root string) (*run.Run, error) { return run.Open(root, h.Of) }
	}
	r, err := open(p.Root)
	if err != nil {
		return signals.Holder{}, false, err
	}
	return signals.ReadHolder(r.NodeLock(h.Node()))
}

// lockHolder is the caller as who holds a lock, and as the process that asks for it.
func (p *Locks) lockHolder(process bool) (h, by locks.Holder, err error) {
	who, _, err := p.Sender()
	if err != nil {
		return h, by, err
	}
	from, err := p.Origin()
	if err != nil {
		return h, by, err
	}
	h.Who = who.String()
	if from != nil {
		h.Of, h.Life = from.Of(), from.N
		at, held, err := p.wrapperOf(h)
		if err != nil || !held {
			return h, by, errors.Join(err, fmt.Errorf("%s has ended, and can hold no lock", h.Who))
		}
		h.Wrapper = at.PID
	}
	me, err := proc.Self()
	by = h
	by.PID, by.Start, by.Boot = me.PID, me.Start, proc.BootID()
	if process {
		h = by
	}
	return h, by, err
}

// lockCheck is how often it is looked again whether who holds a lock lives, though
// nothing told of their end.
const lockCheck = 2 * time.Second

// Take takes a lock, and waits for it where that was asked for.
func (p *Locks) Take(ctx context.Context, o TakeLock) error {
	h, by, err := p.lockHolder(o.Process || o.PID != 0)
	if err == nil && o.PID != 0 {
		h.PID = o.PID
		h.Start, err = proc.StartTime(o.PID)
	}
	if err != nil {
		return err
	}
	b, err := p.lockBook(true)
	if err != nil {
		return err
	}
	wish := locks.Wish{Name: o.Name, Holder: h, By: by, Note: o.Note, Wait: o.Wait != 0}
	got, aside, err := b.Want(ctx, wish)
	p.SetAside(locks.Name, aside)
	if got || err != nil {
		return lockHint(err)
	}
	waits, cancel := context.WithCancel(ctx)
	if o.Wait > 0 {
		waits, cancel = context.WithTimeout(ctx, o.Wait)
	}
	defer cancel()
	if err := p.awaitLock(waits, b, wish); err == nil || waits.Err() == nil {
		return lockHint(err)
	}
	return lockHint(p.gaveUp(ctx, b, wish))
}

// awaitLock waits, in line, until the lock is the caller's. What can make it so are
// changes of the file, and the ends of those who are ahead.
func (p *Locks) awaitLock(ctx context.Context, b *locks.Book, wish locks.Wish) error {
	w := signals.Watch(ctx, filepath.Join(p.Root, signals.Folder))
	defer w.Close()
	again := time.NewTicker(lockCheck)
	defer again.Stop()
	ctx, cancel := context.WithCancel(ctx)
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel()
	ended := make(chan struct{}, 1)
	awaited := map[int]bool{}
	await := func(pid int) {
		if pid <= 0 || awaited[pid] {
			return
		}
		awaited[pid] = true
		tasks.Go(func() {
			if proc.AwaitExit(ctx, pid) == nil {
				select {
				case ended <- struct{}{}:
				default:
				}
			}
		})
	}
	for {
		l, err := b.List()
		if err != nil {
			return err
		}
		ends, turn := l.Ahead(wish.Name, wish.Holder, p.holds())
		if turn {
			got, _, err := b.Want(ctx, wish)
			if got || err != nil {
				return err
			}
		}
		for _, h := range ends {
			await(h.PID)
			await(h.Wrapper)
		}
		for seen := false; !seen; {
			select {
			case n := <-w.C:
				seen = n.Rescan || slices.Contains(n.Files, b.Path())
			case <-ended:
				seen = true
			case <-again.C:
				seen = true
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// gaveUp leaves the line and says who has the lock.
func (p *Locks) gaveUp(ctx context.Context, b *locks.Book, w locks.Wish) error {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), project.Patience)
	defer cancel()
	if err := b.Leave(end, w.Name, w.Holder); err != nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	w.Wait = false
	got, _, err := b.Want(end, w)
	if got {
		return nil // it came free this moment
	}
	return err
}

// lockHint says how to go on where somebody else has the lock.
func lockHint(err error) error {
	var held *locks.HeldError
	if errors.As(err, &held) && held.Own {
		return hint.New(err, "cmux locks release "+held.Lock.Name)
	}
	if errors.As(err, &held) {
		return hint.New(err, "the same with --wait 10m, or cmux locks list")
	}
	return err
}

// Release ends a lock of the caller's.
func (p *Locks) Release(ctx context.Context, name string) error {
	return p.endLock(ctx, name, false)
}

// Break ends a lock, whoever holds it.
func (p *Locks) Break(ctx context.Context, name string) error {
	return p.endLock(ctx, name, true)
}

func (p *Locks) endLock(ctx context.Context, name string, force bool) error {
	h, _, err := p.lockHolder(false)
	if err != nil {
		return err
	}
	b, err := p.lockBook(true)
	if err != nil {
		return err
	}
	l, err := b.List()
	if err != nil {
		return err
	}
	aside, err := b.Release(ctx, name, h, force)
	p.SetAside(locks.Name, aside)
	if err != nil || !force {
		return err
	}
	for _, k := range l.All(p.holds()) {
		if to, err := mailbox.ParseAddress(k.Holder.Who); k.Name == name && err == nil && to.Kind == mailbox.Agent {
			p.Letters.TellAgent(ctx, k.Holder.Who, "your lock "+name+" was broken", "You do not have the lock "+name+" any more: somebody else may use what it stands for.")
		}
	}
	return nil
}

// List is the locks that are held or waited for, by name.
func (p *Locks) List() ([]LockReport, error) {
	b, err := p.lockBook(false)
	if err != nil {
		return nil, err
	}
	l, err := b.List()
	if err != nil {
		return nil, err
	}
	p.Skipped(l.Bad)
	all := []LockReport{}
	for _, k := range l.All(p.holds()) {
		r := LockReport{Name: k.Name, Waiting: []LockHolder{}}
		if k.Held {
			r.Holder, r.Note, r.Since = &LockHolder{k.Holder.Who, k.Holder.PID}, k.Note, project.Moment(k.Since)
		}
		for _, w := range k.Waiters {
			r.Waiting = append(r.Waiting, LockHolder{w.Who, w.By.PID})
		}
		all = append(all, r)
	}
	return all, nil
}
