package far

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Machine is what a machine offers.
type Machine struct {
	Name     string            `json:"name"`
	Labels   []string          `json:"labels,omitempty"` // its person's, and OS/ARCH
	Agents   map[string]string `json:"agents"`           // kinds that it can run; the value says why one is not ready, empty: it is
	Slots    int               `json:"slots"`            // how many attempts work at once
	Busy     int               `json:"busy"`             // how many do
	Draining bool              `json:"draining,omitempty"`
	Accepts  bool              `json:"auto_accept,omitempty"` // it runs nodes with auto_accept
	Cmux     string            `json:"cmux"`                  // version
	Version  int               `json:"version"`               // of the protocol
	SSH      string            `json:"ssh,omitempty"`
	Where    string            `json:"where,omitempty"`  // URL of the carrier that reaches it
	Fault    string            `json:"fault,omitempty"`  // why it cannot be reached; empty: it can
	Silent   bool              `json:"silent,omitempty"` // it was reached before, and is not now
}

// Need is what an attempt needs of its machine.
type Need struct {
	Labels  []string `json:"labels,omitempty"`  // all of them
	Kind    string   `json:"kind"`              // of agent
	Accept  bool     `json:"accept,omitempty"`  // auto_accept
	Machine string   `json:"machine,omitempty"` // it alone: it has had the attempt
	Prefer  string   `json:"prefer,omitempty"`  // first, as the conversation is there
	Again   bool     `json:"again,omitempty"`   // an earlier process of home may have opened it, and accepted heartbeats
}

// Any is the runs_on of a node that any machine may carry out.
const Any = "any"

var labelRE = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*(?:/[a-z0-9]+)?$`)

// CheckLabel refuses what is no label.
func CheckLabel(s string) error {
	if !labelRE.MatchString(s) || len(s) > 63 {
		return fmt.Errorf("%q is no label: a label has small letters, digits and -, or is a pair as linux/arm64", s)
	}
	return nil
}

// Lacks says why m never carries out what n is of; empty: it does, if not now.
func (n *Need) Lacks(m *Machine) string {
	switch {
	case n.Machine != "" && m.Name != n.Machine:
		return "has not had it"
	case m.Fault != "":
		return m.Fault
	case m.Version != Version:
		return fmt.Sprintf("cmux %s speaks version %d of the protocol, not %d", m.Cmux, m.Version, Version)
	}
	var missing []string
	for _, l := range n.Labels {
		if l != Any && !slices.Contains(m.Labels, l) {
			missing = append(missing, l)
		}
	}
	if len(missing) > 0 {
		return "no label " + strings.Join(missing, ", ")
	}
	switch why, has := m.Agents[n.Kind]; {
	case !has:
		return "no " + n.Kind
	case why != "":
		return n.Kind + " is not ready: " + why
	case n.Accept && !m.Accepts:
		return "no auto_accept (start it with --auto-accept)"
	}
	return ""
}

// Hinders says why m does not take an attempt now, although it lacks nothing; empty: it
// does.
func (m *Machine) Hinders() string {
	switch {
	case m.Silent:
		return "silent"
	case m.Draining:
		return "draining"
	case m.Busy >= m.Slots:
		return "full"
	}
	return ""
}

// Choose returns the index of the machine that takes an attempt now: the one that n
// prefers, else the one with most free slots, the first of equals. -1: none does; why then
// says of each machine why not.
func (n *Need) Choose(all []Machine) (i int, why string) {
	i = -1
	var not []string
	for k := range all {
		m := &all[k]
		reason := n.Lacks(m)
		if reason == "" {
			reason = m.Hinders()
		}
		if reason != "" {
			not = append(not, m.Name+": "+reason)
			continue
		}
		if i < 0 || m.Name == n.Prefer || all[i].Name != n.Prefer && m.Slots-m.Busy > all[i].Slots-all[i].Busy {
			i = k
		}
	}
	if i >= 0 {
		return i, ""
	}
	what := "a machine"
	if labels := slices.DeleteFunc(slices.Clone(n.Labels), func(l string) bool { return l == Any }); len(labels) > 0 {
		what += " with " + strings.Join(labels, ", ")
	}
	why = "waits for " + what + " for " + n.Kind
	if len(not) > 0 {
		why += " (" + strings.Join(not, ", ") + ")"
	}
	return i, why
}
