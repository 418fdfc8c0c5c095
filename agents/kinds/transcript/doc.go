// Package transcript reads what agent programs write about their work: Claude
// Code's transcript files and stream-json lines, and the texts of API errors.
//
// Programs add line types and fields with every release: what is not known is
// skipped, and only a line that is no JSON object is an error. Lines may have
// any length. Nothing here starts a process or a goroutine; only a Follower
// touches the disk, and it only reads.
package transcript
