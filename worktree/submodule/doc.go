// Package submodule brings the submodules of a working tree to what its commit says,
// from the project's own copies of them where there are any. What nobody but a
// submodule holds stays, or is told.
package submodule
