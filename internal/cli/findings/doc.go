// Package findings prints what inspect has found: [Print] an inspection, with its doubts, and [PrintProfile] a profile of the
// columns.
package findings
