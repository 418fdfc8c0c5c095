package proc

import (
	"context"
	"errors"
)

// AwaitExit returns nil when the process pid has ended, whoever's child it is.
// The wait costs nothing. An error says that ctx ended it, or that the system
// has no way to wait, as here.
func AwaitExit(context.Context, int) error { return errors.ErrUnsupported }
