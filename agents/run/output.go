package run

import (
	"fmt"
	"regexp"
)

// Bounds of what an agent publishes: values are for prompts and environments,
// not for files.
const (
	maxOutputs     = 50 // of one node
	maxOutputKey   = 64
	maxOutputValue = 4 << 10
)

var outputKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// CheckOutput says what is wrong with an output that an agent publishes.
func CheckOutput(key, value string) error {
	switch {
	case !outputKey.MatchString(key) || len(key) > maxOutputKey:
		return fmt.Errorf("%.80q is no name of an output: letters, digits and _, not a digit first, at most %d", key, maxOutputKey)
	case len(value) > maxOutputValue:
		return fmt.Errorf("the output %s is %d bytes long, of %d at most: write it to a file in your worktree and publish its path", key, len(value), maxOutputValue)
	}
	return nil
}

// publish takes an output in. Of one node the first maxOutputs names count, and
// of each name the newest value.
func (n *Node) publish(key, value string) {
	if CheckOutput(key, value) != nil {
		return
	}
	if n.Outputs == nil {
		n.Outputs = map[string]string{}
	}
	if _, known := n.Outputs[key]; !known && len(n.Outputs) >= maxOutputs {
		return
	}
	n.Outputs[key] = value
}
