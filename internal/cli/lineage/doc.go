// Package lineage reports on a job in OpenLineage's format: the datasets that it read and wrote, and its outcome.
// An [Observer] emits the events of a run while the run works; a [Subject] is the job that it works on.
//
// Events follow version 2-0-2 of the specification. A run has one START event, and one of COMPLETE, FAIL and ABORT. The types here are the
// few of the specification that a batch load needs.
package lineage
