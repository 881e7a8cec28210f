// Package rewrite splits HFiles whose rows belong to several regions, and merges
// files if a region has more than HBase takes in one call: a [Rewriter] does both
// for package loader, and leaves no incomplete files behind.
package rewrite
