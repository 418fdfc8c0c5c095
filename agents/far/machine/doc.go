// Package machine is the worker of a machine: it carries out attempts for runs whose home
// is elsewhere. It implements far.Worker.
//
// A Worker keeps everything in one folder, which one process at a time owns:
//
//	worker.lock               held by the worker
//	mirrors/PROJECT.git       bare clone of each project, without a remote
//	jobs/PROJECT/RUN/NODE/N/  one attempt:
//	    job.json              what home asked for
//	    in.jsonl, out.jsonl   the journal, in both directions
//	    begun.jsonl           orders that were passed on, or may have been
//	    lease                 the last heartbeat that home accepted
//	    repo, tree            clone of the mirror with the shadow run, and the worktree
//	    lost.json, closed.json
//
// The attempt runs in a wrapper process of its own, which outlives the worker. A worker
// that is killed loses nothing: the next one reads from the folder how far each attempt is.
// The program of an attempt runs only while home has lately accepted a heartbeat. A guard
// process beside each wrapper ends the program if no worker does.
package machine
