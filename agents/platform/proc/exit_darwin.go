package proc

import (
	"context"
	"errors"
)

// AwaitExit returns nil when the process pid has ended; it need not be a child. The wait
// uses no processor time. An error means that ctx ended it, or that the system has no way
// to wait, as here.
func AwaitExit(context.Context, int) error { return errors.ErrUnsupported }
