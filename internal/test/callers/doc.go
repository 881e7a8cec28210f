// Package callers tries what starts bulkload without a person: Airflow, cron, systemd. The tests take the
// files of examples/ and python/ as they are, and the real thing as the judge: a real apache-airflow in virtual
// environments of both versions (make test-airflow), the cron daemon of Debian in a mount namespace of its
// own (make test-cron), and systemd-analyze. Loads go into tables of the test cluster.
//
// Kubernetes manifests are tried in internal/test/manifests, a module of its own.
package callers
