// Package places says what each path is to one node: its own, a person's or
// another agent's, and why it may not be written. The guard and what grants ask it.
package places
