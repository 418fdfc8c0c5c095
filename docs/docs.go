// Package docs holds the pages of cmux, which its binary shows by cmux help.
package docs

import "embed"

// Pages are the pages as they stand in the repository.
//
//go:embed *.md
var Pages embed.FS
