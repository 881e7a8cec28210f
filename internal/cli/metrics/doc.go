// Package metrics reports on a job in Prometheus' terms.
//
// The program has two sets of metrics, since a batch job is monitored in two ways:
//
//   - The last run ([Run]): gauges that describe the run that has just ended. They outlive the process, in a file for
//     node_exporter ([WriteFile]) or in a Pushgateway ([Push]). All of them are gauges: the next run begins at zero, and
//     nothing adds runs up.
//   - The current run ([Live]): counters and gauges that the process itself serves while it works.
//
// Series are distinguished by the table and by labels that the caller names, never by a date, a path or a job's id: each of
// those would leave a series behind for every night.
package metrics
