// Package reviewing leads a person through what finished nodes did: an overview and
// the diff of each file, with keys to approve, send back or drop it.
//
// The model is pure: keys go in, what is to be done comes out, and a screen is
// made of it. The program around it reads diffs and gives the decisions.
package reviewing
