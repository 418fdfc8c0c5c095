// Package stage is the short way of a fenced program from its start to its first
// instruction: the running binary, started once more under the name [Name] in namespaces
// of its own. It covers what the program must not see, gives up the right to uncover it,
// puts up Landlock and executes the program, as the same process.
//
// The stage runs while the packages of the binary are initialized, before almost all
// others. So this package imports only what is ready by then, and calls the kernel itself.
package stage
