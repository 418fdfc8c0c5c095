package host

import (
	"context"

	"cmux/agents/runs/run"
)

// Windows is where every attempt has the window of its node, whose owner starts
// the wrapper in it.
type Windows struct {
	wrappers
	open Opener
}

// An Opener starts a program in the window of a node. What is left of an earlier
// one in it has ended, as the node's lock says.
type Opener func(ctx context.Context, node, dir string, argv []string) error

// NewWindows returns a Windows whose windows open opens.
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
