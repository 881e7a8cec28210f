// Package manifests holds the tests of examples/kubernetes and of the chart, which Helm's library renders: both are decoded strictly into the types of
// Kubernetes' own API, and what the chart makes is what the examples have.
package manifests
