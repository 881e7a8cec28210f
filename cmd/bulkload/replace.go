package main

import (
	"fmt"
	"io"
	"strings"

	"bulkload/pkg/result"
	"bulkload/pkg/spec"
)

// replaceText is what the summary of a run with --replace says of the rows that are gone.
func replaceText(r *result.Replace) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("; replaced: %s", r)
}

// replacePlan is what plan says of a job with --replace.
type replacePlan struct {
	Known      string `json:"known"`       // when the number of deleted rows is
	MaxDeletes string `json:"max_deletes"` // that are allowed
}

// plannedReplace is a plan with what is said of a job with --replace.
type plannedReplace struct {
	plannedOnYARN
	Replace *replacePlan `json:"replace,omitempty"`
}

// planReplace is nil for a job without --replace.
func planReplace(s spec.Job) *replacePlan {
	if !s.Replace {
		return nil
	}
	return &replacePlan{"before the load", s.MaxDeletes().String()}
}

func (r *replacePlan) print(w io.Writer) {
	if r == nil {
		return
	}
	fmt.Fprintf(w, "\nreplace: how many rows of the table are deleted is known when the HFiles are built: run compares them with a snapshot before it loads anything,\n"+
		"and refuses more than %s\n", r.text())
}

// text is the limit in words.
func (r *replacePlan) text() string {
	if strings.HasSuffix(r.MaxDeletes, "%") {
		return r.MaxDeletes + " of the rows before"
	}
	return r.MaxDeletes + " rows"
}
