// Package metrics reports on a job in Prometheus' terms.
//
// Two sets of metrics come from one program, because a batch job is looked at in two ways:
//
//   - The last run ([Run]): gauges that say how the run that has just ended went. They outlive the process, in a file for
//     node_exporter ([WriteFile]) or in a Pushgateway ([Push]). All are gauges: a next run begins at nothing, and nothing
//     adds runs up.
//   - The run under way ([Live]): counters and gauges that the process itself serves while it works.
//
// Series are distinguished by the table and by labels that the caller names, never by a date, a path or a job's id: each of
// those would leave a series behind for every night.
package metrics
