// Package fence keeps a program, and everything that it starts, from writing outside the
// places that it is given, and hides places from it. The kernel does the keeping: Landlock
// and a mount namespace on Linux, Seatbelt on macOS. Other places can be read as before.
//
// A Fence is built of what may be written. A place that may be written except for a part
// of it is replaced by everything else that lies there (Without): what is made directly in
// it later cannot be written.
//
// Landlock restricts neither reading nor sockets that are files. What is hidden is covered
// by something empty, also for whoever could mount: the program has no right to, and
// Landlock forbids it to what makes namespaces of its own. A thread in Landlock cannot
// mount either, so package stage covers first.
//
// Fences only get narrower: a fenced program may put up another one, and cannot take its
// own down.
package fence
