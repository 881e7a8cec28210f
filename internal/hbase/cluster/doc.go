// Package cluster has the world of a job: Hadoop's configuration, the file
// systems and the HBase that it leads to ([Env]), and what a table says of itself
// ([TableFacts]).
package cluster
