package findings

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"bulkload/internal/jobs/inspect"
	"bulkload/pkg/setting"
)

// Print prints what an inspection has found. wrote is the name of the job file that was written, if any.
func Print(w io.Writer, r *inspect.Report, wrote string) {
	for _, f := range r.Refused {
		fmt.Fprintf(w, "refused: %s\n", f.Reason)
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(w, "left out: %d × %s, such as %s\n", l.Count, l.Kind, l.Example)
	}
	for _, f := range r.Files {
		fmt.Fprintf(w, "%s: %s, %s", f.Path, cmp.Or(f.Format, "text"), setting.Bytes(f.Size))
		if f.Compression != "" {
			fmt.Fprintf(w, ", packed as %s", f.Compression)
		}
		if len(f.Lacks) > 0 {
			fmt.Fprintf(w, ", lacks %s", strings.Join(f.Lacks, ", "))
		}
		fmt.Fprintln(w)
	}
	all := ""
	if r.Sample.Whole && r.Sample.Files > 0 {
		all = ": all of the input"
	}
	fmt.Fprintf(w, "sample: %s, %s of %d of %s%s\n", setting.Count(r.Sample.Rows, "row"), setting.Bytes(r.Sample.Bytes), r.Sample.Files, setting.Count(len(r.Files), "file"), all)
	if d := r.Dialect; d != nil {
		fmt.Fprintf(w, "dialect: %s%s (%s)\n", d.Preset, settingsText(d.Settings), r.Writer)
	}
	if r.Charset != "" {
		fmt.Fprintf(w, "character set: %s (%s)\n", r.Charset, r.Reason)
	}
	printColumns(w, r)
	for _, n := range r.Nulls {
		as := "a text"
		if n.IsNull {
			as = "NULL"
		}
		text := "'" + n.Text + "'"
		if n.Quoted {
			text += " in quotes"
		}
		fmt.Fprintf(w, "%s is %s, %s\n", text, as, setting.Count(n.Count, "time"))
	}
	if len(r.Keys) > 0 {
		fmt.Fprintf(w, "keys that the first %s of the sample suggest:\n", setting.Count(r.Keys[0].Rows, "row"))
		for i := range r.Keys {
			fmt.Fprintf(w, "  %s\n", r.Keys[i].String())
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	for _, d := range r.Doubts {
		printDoubt(w, d)
	}
	PrintProfile(w, r.Profile)
	if wrote != "" {
		fmt.Fprintf(w, "job file: %s (fill in table and key)\n", wrote)
	}
}

func printColumns(w io.Writer, r *inspect.Report) {
	width := 0
	for _, c := range r.Columns {
		width = max(width, len(c.Name))
	}
	width = min(width, 40)
	for _, c := range r.Columns {
		fmt.Fprintf(w, "  %-*s  %s", width, c.Name, c.Type)
		switch {
		case c.Partition:
			fmt.Fprintf(w, ", of the path")
		case c.Within == "":
			fmt.Fprintf(w, ", %d NULL, %d empty, %d different", c.Nulls, c.Empty, c.Distinct)
		}
		if len(c.Values) > 0 {
			fmt.Fprintf(w, ": %q", c.Values)
		}
		fmt.Fprintln(w)
	}
}

func settingsText(list []inspect.Setting) string {
	text := ""
	for _, s := range list {
		text += fmt.Sprintf(", %s '%s'", s.Field, s.Value)
	}
	return text
}

func printDoubt(w io.Writer, d inspect.Doubt) {
	fmt.Fprintf(w, "DOUBT about %s: %s\n", strings.Join(d.About, ", "), d.Text)
	for _, r := range d.Readings {
		fmt.Fprintf(w, "  %s%s: %s, %s (%s)\n", r.Dialect, settingsText(r.Settings), setting.Count(r.Columns, "column"), setting.Count(r.Rows, "row"), r.Text)
	}
	if p := d.Place; p != nil {
		fmt.Fprintf(w, "  first at %s, byte %d", p.File, p.Byte)
		if p.Record > 0 {
			fmt.Fprintf(w, ", record %d", p.Record)
		}
		if p.Column > 0 {
			fmt.Fprintf(w, ", column %d", p.Column)
		}
		fmt.Fprintln(w)
	}
}
