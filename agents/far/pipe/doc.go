// Package pipe is the carrier of package far over byte streams: ssh connections, and
// connections of tests. Home keeps one to each machine. Nothing is stored on the way: what
// could not be sent waits until the machine is reached again.
//
// Both sides send frames, which are lines of JSON. Home sends requests, each with a number
// that its reply repeats; many are under way at once. The machine sends heartbeats, which
// pass all other frames, and home answers them at once.
package pipe
