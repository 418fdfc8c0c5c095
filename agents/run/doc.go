// Package run is one run of a graph as it stands on disk: the folder
// .cmux/runs/ID with the frozen plan, the records, the requests and a folder
// per node.
//
// The records (records.jsonl) are the only memory of a run. Every process
// that learns a fact appends it; Load folds the records, the markers and the
// locks into a View, and everything else (the runner after a crash, status,
// the dashboard) reads that View. Nothing here starts or stops a process.
package run
