// Package api is what programs ask and order of a project over HTTP: the routes
// of the server, each with the types from which its OpenAPI document is made.
//
// No handler has a rule of its own: it asks package control, for the person who
// is logged in, and turns what comes back into JSON and status codes.
package api
