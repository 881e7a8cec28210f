package result

import "time"

// Cluster is the result for one of the clusters that receive the files of a job.
type Cluster struct {
	Conf    string        `json:"conf"` // configuration directory; empty: the command's own
	Status  PartStatus    `json:"status"`
	Error   string        `json:"error,omitempty"`
	Jobs    []string      `json:"jobs,omitempty"`    // state directories of its loads, one for each table
	Tables  []Table       `json:"tables,omitempty"`  // in loading order, without manifests
	Replace *Replace      `json:"replace,omitempty"` // of a run that replaces the table's rows
	Elapsed time.Duration `json:"elapsed_ns"`
}
