package fence

import "strings"

// profile is the Seatbelt profile that lets only places be written.
func profile(places []string) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n(deny signal (target others))\n(allow file-write*\n")
	for _, place := range places {
		b.WriteString("\t(subpath " + quoted(place) + ")\n")
	}
	b.WriteString(")\n")
	return b.String()
}

// quoted is a string of the profile's language.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
