package result

import "time"

// Cluster is the result of the load into one of several clusters.
type Cluster struct {
	Conf    string        `json:"conf"` // directory of its configuration; empty: the command's own
	Status  PartStatus    `json:"status"`
	Error   string        `json:"error,omitempty"`
	Jobs    []string      `json:"jobs,omitempty"`    // the directories of the states of its loads, one for each table
	Tables  []Table       `json:"tables,omitempty"`  // in the order in which they are loaded, without manifests
	Replace *Replace      `json:"replace,omitempty"` // of a run that leaves the table with its rows alone
	Elapsed time.Duration `json:"elapsed_ns"`
}
