// Package live tells clients what happens, over a websocket: exactly what a
// client missed since the event that it saw last, and from there on each event
// as it is taken in, in one order.
//
// A client says the epoch and seq of the last event that it saw. What lies
// behind it is read from the store, as fast as the client takes it; when nothing
// is left it is live, and gets the messages that are made once for all. A client
// for which too much waits is told so, and asks anew. Nothing is kept for who is
// not there.
package live
