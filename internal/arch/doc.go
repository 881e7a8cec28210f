// Package arch holds the tests that keep the project's structure: who may
// import whom.
package arch
