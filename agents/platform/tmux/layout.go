package tmux

import (
	"fmt"
	"strings"
)

// Tile is the smallest useful size of a pane, in cells inside its borders.
type Tile struct{ Width, Height int }

// Useful sizes: for a program's lines; for a whole question in an agent's own terminal
// interface; for the last lines of an ended node, which can be zoomed.
var (
	lineTile  = Tile{70, 9}
	AgentTile = Tile{70, 20}
	endedTile = Tile{38, 3}
)

// mainHeight is the height of the main pane, a quarter of the window.
func mainHeight(height int) int { return max(height/4, 1) }

// agentHeight is the height left for agents, without the line of the main pane's border.
func agentHeight(height int, withMain bool) int {
	if withMain {
		return height - mainHeight(height) - 1
	}
	return height
}

// grid returns how many columns and rows of readable panes fit. Each row has a line for its
// border, also the first one.
func (t Tile) grid(width, height int) (cols, rows int) {
	return max((width+1)/(t.Width+1), 1), max(height/(t.Height+1), 1)
}

// Capacity returns how many readable panes of agents a window of width x height cells
// holds; at least 1.
func (t Tile) Capacity(width, height int, withMain bool) int {
	cols, rows := t.grid(width, agentHeight(height, withMain))
	return cols * rows
}

// Layout returns a tmux layout that tiles agents' panes, row by row in the order given,
// above the main pane, which takes the full width and about a quarter of the height at the
// bottom; main may be empty. tmux assigns cells to panes in the order of the window's list,
// not by the ids in the layout: that list must have the same order, main last. With more
// than Capacity, the panes become small; if even that is impossible, it returns an error.
func (t Tile) Layout(width, height int, agents []PaneID, main PaneID) (string, error) {
	n := len(agents)
	if n == 0 {
		if main == "" {
			return "", fmt.Errorf("a layout needs a pane")
		}
		return checksummed(cell(width, height, 0, 0) + paneNumber(main)), nil
	}
	region := agentHeight(height, main != "")
	perRow := t.tile(width, region, n)
	rows := len(perRow)
	// A pane has at least one line, and the first row a line of border.
	if region < 2*rows || width < 2*perRow[0]-1 {
		return "", fmt.Errorf("%d panes do not fit into %dx%d", n, width, height)
	}
	var cells []string
	y := 0
	for i, heights := 0, split(region, rows); i < rows; i++ {
		var row []string
		x := 0
		for _, w := range split(width, perRow[i]) {
			row = append(row, cell(w, heights[i], x, y)+paneNumber(agents[0]))
			agents = agents[1:]
			x += w + 1
		}
		if len(row) == 1 {
			cells = append(cells, row[0])
		} else {
			cells = append(cells, cell(width, heights[i], 0, y)+"{"+strings.Join(row, ",")+"}")
		}
		y += heights[i] + 1
	}
	if main != "" {
		cells = append(cells, cell(width, height-y, 0, y)+paneNumber(main))
	}
	if len(cells) == 1 {
		return checksummed(cells[0]), nil
	}
	return checksummed(cell(width, height, 0, 0) + "[" + strings.Join(cells, ",") + "]"), nil
}

// tile returns how many of n panes are in each row: as few rows as the minimum width
// allows. If not all are readable, it maximizes the smaller of the two dimensions, relative
// to the minimum.
func (t Tile) tile(width, height, n int) []int {
	cols, most := t.grid(width, height)
	rows := (n + cols - 1) / cols
	if rows > most {
		best := -1.0
		for r := 1; r <= n; r++ {
			c := (n + r - 1) / r
			w := float64(width-(c-1)) / float64(c) / float64(t.Width)
			h := float64(height-r) / float64(r) / float64(t.Height)
			if score := min(w, h); score > best {
				best, rows = score, r
			}
		}
	}
	return shares(n, rows)
}

// split cuts length cells into n parts with one cell of border between them.
func split(length, n int) []int { return shares(length-(n-1), n) }

// shares divides total into n parts that differ by at most one, larger first.
func shares(total, n int) []int {
	parts := make([]int, n)
	for i := range parts {
		parts[i] = total / n
		if i < total%n {
			parts[i]++
		}
	}
	return parts
}

func cell(w, h, x, y int) string { return fmt.Sprintf("%dx%d,%d,%d", w, h, x, y) }

func paneNumber(p PaneID) string { return "," + strings.TrimPrefix(string(p), "%") }

// checksummed puts tmux's checksum, a rotating sum of 16 bits, before a layout.
func checksummed(layout string) string {
	var sum uint16
	for i := 0; i < len(layout); i++ {
		sum = sum>>1 | sum<<15
		sum += uint16(layout[i])
	}
	return fmt.Sprintf("%04x,%s", sum, layout)
}
