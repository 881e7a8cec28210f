package main

import (
	"fmt"
	"io"
	"strings"

	"bulkload/internal/cli/report"
	"bulkload/internal/model/progress"
	"bulkload/pkg/setting"
)

const (
	mostWays    = 10 // of reading, and groups of files that differ, in a text
	mostDiffers = 3  // files that are named of each group
	mostColumns = 20 // columns of each
)

// differingText says of how many files the columns differ; empty where all are alike.
func differingText(s progress.Start) string {
	if s.Reading == nil || s.Parts > 0 {
		return ""
	}
	text := ""
	if n := progress.CountFiles(s.Reading.Lacking); n > 0 {
		text += fmt.Sprintf("; %d of %s lack columns, which are NULL there", n, setting.Count(s.Files, "file"))
	}
	if n := progress.CountFiles(s.Reading.PassedOver); n > 0 && (n < s.Files || len(s.Reading.PassedOver) > 1) { // else they are alike
		text += fmt.Sprintf("; %d of %s have columns that were passed over", n, setting.Count(s.Files, "file"))
	}
	return text
}

// wayText is how files are read, in one line.
func wayText(w progress.Way) string {
	text := w.Format
	if w.Detected {
		text += " (detected)"
	}
	if w.Dialect != "" {
		text += ", dialect " + w.Dialect
	}
	if w.Settings != "" {
		text += ": " + w.Settings
	}
	return text
}

// printReading prints how the inputs are read.
func printReading(w io.Writer, r *progress.Reading) {
	if r == nil {
		return
	}
	for _, way := range r.Ways[:min(len(r.Ways), mostWays)] {
		fmt.Fprintf(w, "  read    %s as %s\n", setting.Count(way.Files, "file"), wayText(way))
	}
	if n := len(r.Ways) - mostWays; n > 0 {
		fmt.Fprintf(w, "          and in %s\n", setting.Count(n, "more way"))
	}
	if len(r.Partitions) > 0 {
		fmt.Fprintf(w, "  by path %s\n", partitionsText(r))
	}
	printDiffering(w, "missing from", r.Lacking)
	printDiffering(w, "not listed by the job, in", r.PassedOver)
}

// partitionsText is the columns that paths give, and what chose among them.
func partitionsText(r *progress.Reading) string {
	text := strings.Join(r.Partitions, ", ")
	if len(r.Where) > 0 {
		text += " where " + strings.Join(r.Where, ", ")
	}
	return text
}

func printDiffering(w io.Writer, what string, list []progress.FileColumns) {
	for _, l := range list[:min(len(list), mostWays)] {
		fmt.Fprintf(w, "  columns %s, %s %s: %s\n", firstOf(l.Columns, mostColumns), what, setting.Count(len(l.Files), "file"), firstOf(l.Files, mostDiffers))
	}
	if len(list) > mostWays {
		fmt.Fprintf(w, "          and others, %s %s\n", what, setting.Count(progress.CountFiles(list[mostWays:]), "more file"))
	}
}

// firstOf joins the first of a list, and says how many there are beyond.
func firstOf(list []string, most int) string {
	text := strings.Join(list[:min(len(list), most)], ", ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// addReading reports how the inputs were read.
func addReading(r *report.Report, reading *progress.Reading) {
	if reading == nil {
		return
	}
	for _, way := range reading.Ways[:min(len(reading.Ways), mostWays)] {
		r.ReadAs = append(r.ReadAs, fmt.Sprintf("%s: %s", setting.Count(way.Files, "file"), wayText(way)))
	}
	if n := len(reading.Ways) - mostWays; n > 0 {
		r.ReadAs = append(r.ReadAs, fmt.Sprintf("and in %s", setting.Count(n, "more way")))
	}
	if len(reading.Partitions) > 0 {
		r.Partitions = partitionsText(reading)
	}
	r.Lacking, r.MoreLacking = differing(reading.Lacking)
	r.PassedOver, r.MorePassed = differing(reading.PassedOver)
}

// differing is a list for the report, and how many files it leaves out.
func differing(list []progress.FileColumns) (first []report.Differing, more int) {
	for _, l := range list[:min(len(list), mostInputs)] {
		first = append(first, report.Differing{Columns: firstOf(l.Columns, mostColumns), Files: len(l.Files), First: firstOf(l.Files, mostDiffers)})
	}
	return first, progress.CountFiles(list[len(first):])
}
