// Package reviewing leads a person through what finished nodes did: an overview and
// the diff of each file, with keys to approve, send back or drop it.
//
// The model is pure: it takes keys and returns effects, and it renders the screen.
// The program around it reads diffs and gives the decisions.
package reviewing
