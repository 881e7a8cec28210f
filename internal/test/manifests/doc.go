// Package manifests holds the tests of examples/kubernetes and of the chart, which Helm's library renders. Both are decoded strictly into the types
// of Kubernetes' own API, and the chart's output must match the examples.
package manifests
