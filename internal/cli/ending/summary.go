package ending

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"bulkload/internal/formats/expectation"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
	"bulkload/pkg/setting"
)

// Print prints a summary of the job. For a failed job it lists the state of the job's parts and clusters, otherwise
// it prints the work done in one line.
func (o *Outcome) Print(w io.Writer) error {
	if o.Result == nil {
		return nil
	}
	if len(o.Result.Parts) > 0 {
		printParts(w, o.Result.Parts)
	}
	printClusters(w, o.Result.Clusters)
	if o.Err != nil {
		return nil
	}
	_, err := fmt.Fprintln(w, o.summary())
	return err
}

func (o *Outcome) summary() string {
	r := o.Result
	var b strings.Builder
	took := r.Elapsed
	if r.Already {
		b.WriteString("the job was done before: nothing to do")
		if r.Share == nil { // a merge has no state
			b.WriteString(" (--restart loads it again)")
		}
		b.WriteString("; it was: ")
	} else {
		b.WriteString("done: ")
		took = o.Ended.Sub(o.Began)
	}
	if r.Table != "" {
		fmt.Fprintf(&b, "table %s, ", r.Table)
	}
	m := r.Manifest
	if m != nil {
		if m.Records > 0 {
			fmt.Fprintf(&b, "%s read, ", setting.Count(m.Records, "record"))
		}
		fmt.Fprintf(&b, "%s (%s) in %s of %s", setting.Count(m.Digest.Rows, "row"), setting.Count(m.Digest.Cells, "cell"), setting.Count(m.HFiles, "HFile"), setting.Bytes(m.Bytes))
	} else {
		fmt.Fprintf(&b, "%s of %s", setting.Count(o.Progress.Start.Files, "file"), setting.Bytes(o.Progress.Start.Bytes))
	}
	if r.Regions > 0 {
		fmt.Fprintf(&b, " loaded into %s", setting.Count(r.Regions, "region"))
	}
	fmt.Fprintf(&b, " in %s", took.Round(time.Millisecond))
	if all := took.Seconds(); m != nil && all > 0 {
		rows, written := m.Digest.Rows, m.Bytes
		if len(r.Parts) > 0 && !r.Already {
			rows, _, written = r.Parts.Done()
		}
		fmt.Fprintf(&b, " (%.0f rows/s, %s/s)", float64(rows)/all, setting.Bytes(int64(float64(written)/all)))
	}
	b.WriteString(replaceText(r.Replace))
	if r.Fresh != nil {
		fmt.Fprintf(&b, "; replaces %s", r.Fresh)
	}
	if v := r.Verify; v != nil {
		switch v.Mode {
		case "full":
			fmt.Fprintf(&b, "; verified: the table has %s with this job's timestamp, as written%s", v.Got, v.Masked.Text())
		case "files":
			fmt.Fprintf(&b, "; verified: %s", v.Text())
		case "sample":
			fmt.Fprintf(&b, "; verified: %s as written%s", setting.Count(v.Sampled, "sampled row is"), v.Masked.Text())
		default:
			b.WriteString("; not verified (--verify off)")
		}
	}
	if m != nil && m.Duplicates > 0 {
		left := "row"
		if m.Wide {
			left = "cell" // two records of a row with the same qualifier
		}
		fmt.Fprintf(&b, "; %s left out because another %s has the same key%s", setting.Count(m.Duplicates, left), left, inFiles(r, m.DuplicatesFile, func(p result.Part) string { return p.DuplicatesFile }))
	}
	if m != nil && m.NoCells > 0 {
		fmt.Fprintf(&b, "; %s no value that makes a cell: left out", setting.Count(m.NoCells, "row has"))
	}
	if m != nil && m.Filtered > 0 {
		fmt.Fprintf(&b, "; %s left out by the filter%s", setting.Count(m.Filtered, "record"), inFiles(r, m.FilteredFile, func(p result.Part) string { return p.FilteredFile }))
	}
	b.WriteString(expectedText(m.Findings()))
	for _, t := range r.Tables {
		if m := t.Manifest; m != nil {
			fmt.Fprintf(&b, "; table %s, %s in %s of %s", t.Table, setting.Count(m.Digest.Rows, "row"), setting.Count(m.HFiles, "HFile"), setting.Bytes(m.Bytes))
			if m.Filtered > 0 {
				fmt.Fprintf(&b, " (%s left out by filters)", setting.Count(m.Filtered, "record"))
			}
		}
		if t.Regions > 0 {
			fmt.Fprintf(&b, " loaded into %s", setting.Count(t.Regions, "region"))
		}
		if v := t.Verify; v != nil {
			b.WriteString(v.Masked.Text())
		}
	}
	b.WriteString(differingText(o.Progress.Start))
	if m != nil && m.Rejected > 0 {
		fmt.Fprintf(&b, "; %s set aside in %s", setting.Count(m.Rejected, "bad record"), r.Parts.Files(m.RejectFile, func(p result.Part) string { return p.RejectFile }))
	}
	return b.String()
}

// expectedText returns the number of expectations that were met, as text.
func expectedText(findings []expectation.Finding) string {
	met, bad, unchecked := 0, 0, 0
	for _, f := range findings {
		switch {
		case f.Bad():
			bad++
		case f.Status == expectation.Unchecked:
			unchecked++
		default:
			met++
		}
	}
	if len(findings) == 0 {
		return ""
	}
	text := fmt.Sprintf("; %d of %s met", met, setting.Count(len(findings), "expectation"))
	if bad > 0 {
		text += fmt.Sprintf(", %d not met (warnings)", bad)
	}
	if unchecked > 0 {
		text += fmt.Sprintf(", %d not checked", unchecked)
	}
	return text
}

// replaceText returns the part of a summary about the rows that a run with --replace has deleted.
func replaceText(r *result.Replace) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("; replaced: %s", r)
}

// differingText returns the number of files whose columns differ, as text. It is empty if all files have the same
// columns.
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

// inFiles returns the files as part of a sentence, or "" if there is no such file.
func inFiles(r *result.Result, first string, of func(result.Part) string) string {
	if first == "" {
		return ""
	}
	return ", in " + r.Parts.Files(first, of)
}

func printParts(w io.Writer, parts result.Parts) {
	for _, p := range parts {
		switch p.Status {
		case result.PartDone:
			fmt.Fprintf(w, "%s: %s read, %s (%s) in %s, %s, in %s\n", p.Input, setting.Count(p.Records, "record"), setting.Count(p.Rows, "row"), setting.Count(p.Cells, "cell"), setting.Count(p.HFiles, "HFile"),
				setting.Bytes(p.Written), p.Elapsed.Round(time.Millisecond))
		case result.PartFailed, result.PartBusy, result.PartStopped:
			fmt.Fprintf(w, "%s: %s\n", p.Input, p.Status)
		}
	}
	fmt.Fprintln(w, parts.Text())
}

func printClusters(w io.Writer, clusters []result.Cluster) {
	for _, c := range clusters {
		name := cmp.Or(c.Conf, "the command's own")
		if c.Status != result.PartDone {
			fmt.Fprintf(w, "cluster %s: %s\n", name, c.Status.Text())
			continue
		}
		fmt.Fprintf(w, "cluster %s: done in %s%s\n", name, c.Elapsed.Round(time.Millisecond), replaceText(c.Replace))
	}
}
