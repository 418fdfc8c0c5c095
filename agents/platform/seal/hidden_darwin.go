package seal

import (
	"errors"
	"io/fs"
)

// covered reports whether the key at path may not be read.
func covered(_ string, err error) bool { return errors.Is(err, fs.ErrPermission) }
