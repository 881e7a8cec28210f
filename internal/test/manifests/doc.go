// Package manifests holds the tests of what containers are made of: examples/kubernetes, decoded strictly
// into the types of Kubernetes' own API, and the Dockerfile, read by BuildKit's parser, whose build line is
// run and whose program is then tried in a root directory that holds nothing else.
package manifests
