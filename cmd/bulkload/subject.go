package main

import (
	"cmp"

	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/spec"
	"bulkload/pkg/loader"
)

// subject is what a command works on, as far as it is known before it begins.
type subject struct {
	command string    // run, build (and merge, which ends one) or load
	spec    spec.Spec // of load: the table, and the directory as the only input
	out     string    // of build
	into    string    // the table that takes the place of the spec's, empty: none
	env     *cluster.Env
}

// filled are the names of the tables that the command fills, as OpenLineage has them, in the order of the job's tables.
func (s subject) filled() (names []string) {
	for _, t := range append([]string{cmp.Or(s.into, s.spec.Table)}, tableNames(s.spec.Tables)...) {
		if name, err := loader.ParseTableName(t); err == nil {
			t = name.Namespace + ":" + name.Qualifier
		}
		names = append(names, t)
	}
	return names
}

func tableNames(tables []spec.TableSpec) (names []string) {
	for _, t := range tables {
		names = append(names, t.Table)
	}
	return names
}

// table is the table's name as HBase writes it; of a build it may be empty.
func (s subject) table() string {
	if name, err := loader.ParseTableName(s.spec.Table); err == nil {
		return name.String()
	}
	return s.spec.Table
}
