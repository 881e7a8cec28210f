// Package callers tests the programs that start bulkload unattended: Airflow, cron, systemd. The tests use the files
// of examples/ and python/ unchanged, with the real programs as the judges: a real apache-airflow in virtual
// environments of both versions (make test-airflow), the cron daemon of Debian in its own mount namespace (make
// test-cron), and systemd-analyze. They load into tables of the test cluster.
//
// The tests of Kubernetes manifests are in internal/test/manifests, a separate module.
package callers
