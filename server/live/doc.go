// Package live sends events to clients over a websocket: all events that a client missed
// since its last one, then each new event, in one order.
//
// A client sends the epoch and seq of its last event. The server reads the later events
// from the store, as fast as the client accepts them. Then the client is live and gets the
// messages that are made once for all clients. If too much waits for a client, it gets a
// notice and must ask again. Nothing is stored for disconnected clients.
package live
