package grant

import "slices"

// Watched reports whether the guard looks at a key of git's configuration.
func Watched(key string) bool {
	return slices.ContainsFunc(filters, func(f string) bool { return named(f, key) }) ||
		slices.ContainsFunc(starts, func(s start) bool { return named(s.key, key) })
}

// Lexed reports whether a text is taken apart.
func Lexed(text string) bool {
	_, ok := lex(text)
	return ok
}
