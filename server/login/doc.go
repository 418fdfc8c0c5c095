// Package login authenticates requests to the server.
//
// A request with the project's token, or with a session, is the person's. A session is a
// cookie that a browser gets for a one-time link; it is signed with the token, so that it
// outlives the server and ends with the token. Other requests only reach the server's
// identity, the page of one-time links, and signed webhooks.
//
// The Host of a request must be this server's, which excludes names that another site
// points here. A request that changes something, or opens a websocket, must come from the
// server's own pages by its Origin, because browsers also send the cookie with requests
// from pages of other ports of this machine.
package login
