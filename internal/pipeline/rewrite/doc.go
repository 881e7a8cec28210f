// Package rewrite cuts HFiles whose rows are in several regions, and merges files
// where a region has more than HBase takes in one call: a [Rewriter] does both for
// package loader, and leaves nothing behind that is not complete.
package rewrite
