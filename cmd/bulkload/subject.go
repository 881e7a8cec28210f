package main

import (
	"bulkload/pkg/cluster"
	"bulkload/pkg/loader"
	"bulkload/pkg/spec"
)

// subject is what a command works on, as far as it is known before it begins.
type subject struct {
	command string    // run, build (and merge, which ends one) or load
	spec    spec.Spec // of load: the table, and the directory as the only input
	out     string    // of build
	env     *cluster.Env
}

// table is the table's name as HBase writes it; of a build it may be empty.
func (s subject) table() string {
	if name, err := loader.ParseTableName(s.spec.Table); err == nil {
		return name.String()
	}
	return s.spec.Table
}
