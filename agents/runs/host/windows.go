package host

import (
	"context"

	"cmux/agents/runs/run"
)

// Windows is a Host that has the owner of the windows start each attempt's wrapper in
// the window of its node.
type Windows struct {
	wrappers
	open   Opener
	beside *Headless // of attempts without a pane; nil: they have a window too
}

// An Opener starts a program in the window of a node. An earlier program in it has
// ended, as the node's lock says.
type Opener func(ctx context.Context, node, dir string, argv []string) error

// NewWindows returns a Windows that starts wrappers with open.
func NewWindows(c Config, open Opener) *Windows { return &Windows{wrappers: wrappers{&c}, open: open} }

// NewWindowsBeside returns a Windows whose attempts without a pane run in processes of
// their own, with the frozen environment, and outlive this one.
func NewWindowsBeside(c Config, open Opener) (*Windows, error) {
	var err error
	if c.Env, err = c.Run.Env(); err != nil {
		return nil, err
	}
	w := NewWindows(c, open)
	w.beside, err = NewHeadless(c)
	return w, err
}

// Start opens the window in which the attempt's wrapper runs, or starts the wrapper.
func (w *Windows) Start(ctx context.Context, s *run.Spec) (Link, error) {
	if s.Headless && w.beside != nil {
		return w.beside.Start(ctx, s)
	}
	argv, err := w.specify(ctx, s)
	if err != nil {
		return nil, err
	}
	return nil, w.open(ctx, s.Node, s.Place.Dir, argv)
}

// Close leaves what runs: the windows are their owner's, and the processes outlive this one.
func (w *Windows) Close() error {
	if w.beside != nil {
		w.beside.spawner.Close()
	}
	return nil
}
