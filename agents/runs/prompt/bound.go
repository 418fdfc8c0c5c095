package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds, in bytes, of what others said: an agent's context is not theirs to
// fill.
const (
	maxSaid     = 4 << 10  // one text
	maxOthers   = 24 << 10 // all of them
	maxLine     = 500      // one of a list of lines
	maxListed   = 60       // dependencies that are listed one by one
	maxAttempts = 10       // earlier attempts
)

// Cut is text, or its beginning with a note of what is left out when it is
// longer than most bytes.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if line := strings.LastIndexByte(text[:end], '\n'); line > most/2 {
		end = line
	}
	return fmt.Sprintf("%s … (%d bytes more)", text[:end], len(text)-end)
}

// others is what another said, cut to most bytes and to what is left for all.
func (c *composer) others(title, text string, most int) string {
	most = min(most, c.left)
	if len(text) > most {
		c.keep(title, text)
		text = Cut(text, most) + c.where()
	}
	c.left = max(0, c.left-len(text))
	return text
}

// keep puts a text into the file of what is whole.
func (c *composer) keep(title, text string) {
	fmt.Fprintf(&c.whole, "# %s\n\n%s\n\n", title, strings.TrimRight(text, "\n"))
}

func (c *composer) where() string {
	if c.Whole == "" {
		return ""
	}
	return "; whole in the file " + c.Whole
}
