package host

import (
	"context"

	"cmux/agents/runs/run"
)

// Windows is a Host that has the owner of the windows start each attempt's wrapper in
// the window of its node.
type Windows struct {
	wrappers
	open Opener
}

// An Opener starts a program in the window of a node. An earlier program in it has
// ended, as the node's lock says.
type Opener func(ctx context.Context, node, dir string, argv []string) error

// NewWindows returns a Windows that starts wrappers with open.
func NewWindows(c Config, open Opener) *Windows { return &Windows{wrappers{&c}, open} }

// Start opens the window in which the attempt's wrapper runs.
func (w *Windows) Start(ctx context.Context, s *run.Spec) (Link, error) {
	argv, err := w.specify(ctx, s)
	if err != nil {
		return nil, err
	}
	return nil, w.open(ctx, s.Node, s.Place.Dir, argv)
}

// Close does nothing: the windows are their owner's.
func (w *Windows) Close() error { return nil }
