// Package login decides who may speak to the server.
//
// Who sends the project's token is its person, and so is who sends a session:
// a cookie that a one-time link was traded for, signed with the token, so that
// it outlives the server and ends with the token. Everybody else gets the
// identity of the server, the page that trades links, and what a webhook signs.
//
// A request must be meant for this server by its Host, which a name that another
// site points here is not; one that changes something, or opens a websocket,
// must come from its own pages by its Origin, as a cookie goes along with what
// any page of this machine's other ports sends.
package login
