// Package cluster provides the environment of a job: Hadoop's configuration, the
// file systems and the HBase cluster that it names ([Env]), and the properties of
// a table ([TableFacts]).
package cluster
