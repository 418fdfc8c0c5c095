// Package run is one run of a graph as it stands on disk: the folder
// .cmux/runs/ID with the frozen plan, the records, the requests and a folder
// per node.
//
// The records (records.jsonl) are the only memory of a run. Every process
// that learns a fact appends it. A History is their one fold, with the
// scheduler's State in it: a runner goes on from it, after a crash as ever, and
// a Viewer makes a View of it together with what markers and locks say, which
// is what status, the live table and the dashboard show. Nothing here starts or
// stops a process.
//
// What is read here is carried out, so all of it is sealed with the key of the
// person whose run it is (package seal). A run that is not is a *Refusal; a
// line of the records or a request that is not counts for nothing and is named.
package run
