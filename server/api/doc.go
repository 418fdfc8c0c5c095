// Package api is the project's HTTP API: the routes of the server, with the types from
// which the OpenAPI document is generated.
//
// No handler has rules of its own: it calls package control with the rights of the
// logged-in person, and converts the result into JSON and status codes.
package api
