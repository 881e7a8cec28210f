// Package estimate predicts a build: rows, bytes and time of each region, spill,
// hot keys, and split points where they are asked for. It builds a sample of the
// input ([Build]), counts keys over places drawn from all of it, or over all of it,
// and scales what that took. Nothing is written but files without names.
package estimate
