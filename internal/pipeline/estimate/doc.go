// Package estimate predicts a build: rows, bytes and time of each region, spill,
// hot keys, and split points on request. It builds a sample of the input, counts
// keys in places drawn from the whole input, or in the whole input, and scales the
// measured times and sizes. It writes only files without names.
package estimate
