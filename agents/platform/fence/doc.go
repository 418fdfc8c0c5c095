// Package fence keeps a program, and everything that it starts, from writing outside the
// places that it is given. The kernel does the keeping: Landlock on Linux, Seatbelt on
// macOS. What the program can read, and whom it can talk to over sockets that lie in files,
// stays as it is.
//
// A Fence is built of what may be written. A place that may be written except for a part
// of it is replaced by everything else that lies there (Without): what is made directly in
// it later cannot be written.
//
// Fences only get narrower: a fenced program may put up another one, and cannot take its
// own down.
package fence
