package fence

// Hides returns how this system hides places, for people, or ErrShown.
func Hides() (string, error) { return Support() }
