package fence

import (
	"slices"
	"strings"
)

// profile is the Seatbelt profile that lets only places be written, and hides what is not
// in shown. The last rule that matches counts.
func profile(places, hide, shown []string) string {
	var b strings.Builder
	rule := func(head string, paths []string) {
		if len(paths) == 0 {
			return
		}
		b.WriteString("(" + head + "\n")
		for _, path := range paths {
			b.WriteString("\t(subpath " + quoted(path) + ")\n")
		}
		b.WriteString(")\n")
	}
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n(deny signal (target others))\n")
	rule("allow file-write*", places)
	rule("deny file-read* file-write* network-outbound", hide)
	rule("allow file-read* network-outbound", shown)
	var within []string
	for _, path := range shown {
		if slices.Contains(places, path) {
			within = append(within, path)
		}
	}
	rule("allow file-write*", within)
	return b.String()
}

// quoted is a string of the profile's language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
