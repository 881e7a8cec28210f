// Package manifests holds the tests of examples/kubernetes, decoded strictly into the types of Kubernetes' own API.
package manifests
