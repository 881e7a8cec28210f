package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bulkload/pkg/keygen"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// finish adds findings that depend on the whole report.
func (r *Report) finish() {
	partitions := map[string]map[string]bool{}
	for _, f := range r.Files {
		for name, value := range f.Partitions {
			if partitions[name] == nil {
				partitions[name] = map[string]bool{}
			}
			partitions[name][value] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		c := Column{Name: name, Partition: true, Type: TypeUnknown, Distinct: int64(len(partitions[name]))}
		for value := range partitions[name] {
			if value != "__HIVE_DEFAULT_PARTITION__" {
				c.Type = join(c.Type, typeOf([]byte(value)))
			}
		}
		seen := slices.ContainsFunc(r.Columns, func(o Column) bool { return o.Name == name })
		if r.Columns = append(r.Columns, c); seen {
			r.Doubts = append(r.Doubts, Doubt{About: []string{"partitions"}, Text: fmt.Sprintf("column %s is in the records and in the path: a job refuses that (partitions: off ignores the path)", name)})
		}
	}
	r.choose()
	if r.reading != nil {
		r.noteText()
	}
	if r.traits().Open && len(r.Columns) > 0 {
		r.Notes = append(r.Notes, "JSON lines have no list of columns: these are the members of the first lines; a job ignores others")
	}
	if len(r.Files) > r.Sample.Files && r.Sample.Files > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %s were sampled, the others only listed", r.Sample.Files, setting.Count(len(r.Files), "file")))
	}
	if r.extra {
		r.Notes = append(r.Notes, "not all files have the same columns: with missing: null a missing column is NULL")
	}
}

// choose leaves the given columns alone, where the files name their columns, and doubts those that a job would refuse.
func (r *Report) choose() {
	given := r.given.Columns
	if len(given) == 0 || r.names != nil || len(r.Columns) == 0 {
		return
	}
	var all, more []string
	r.Columns = slices.DeleteFunc(r.Columns, func(c Column) bool {
		all = append(all, c.Name)
		if slices.Contains(given, c.Name) {
			return false
		}
		more = append(more, c.Name)
		return true
	})
	r.Keys = slices.DeleteFunc(r.Keys, func(k Key) bool {
		return slices.ContainsFunc(k.Columns, func(name string) bool { return !slices.Contains(given, name) })
	})
	lacks := slices.DeleteFunc(slices.Clone(given), func(name string) bool { return slices.Contains(all, name) })
	switch {
	case len(lacks) > 0 && r.given.Missing != string(source.MissingNull):
		r.Doubts = append(r.Doubts, Doubt{About: []string{"columns"}, Text: "the input has no column " + strings.Join(lacks, ", ")})
	case len(more) > 0 && r.Format == "text" && r.given.Extra != string(source.ExtraIgnore):
		r.Doubts = append(r.Doubts, Doubt{About: []string{"columns", "extra"}, Text: "the input has columns that are not given: " + strings.Join(more, ", ") + " (extra: ignore leaves them out)"})
	}
}

// noteText adds notes about questions that the sample of text leaves open for the rest of the input, and about texts that were not taken for NULL.
func (r *Report) noteText() {
	d, s := &r.reading.dialect, r.reading.scan
	if !r.Sample.Whole {
		if n, _ := s.escaped(); n == 0 && s.rawN == 0 {
			how := "read as they are"
			if d.Escape != "" {
				how = "read as escapes"
			}
			r.Notes = append(r.Notes, "no backslash of the sample shows whether the writer escapes: further on they are "+how)
		}
		if s.quotes == 0 {
			how := "plain bytes"
			if d.Quote != "" {
				how = "quotes"
			}
			r.Notes = append(r.Notes, "no value of the sample is in quotes: further on they are "+how)
		}
	}
	if last := len(r.Columns) - 1; last > 0 && r.Sample.Rows > 0 && r.Columns[last].Nulls+r.Columns[last].Empty == r.Sample.Rows {
		r.Notes = append(r.Notes, "the last column has no value: if a separator ends each record, leave that column out and set last_column: separated")
	}
	for _, n := range r.Nulls {
		if !n.IsNull && n.Text != "" {
			r.Notes = append(r.Notes, fmt.Sprintf("%s, which exporters write for NULL, occurs %s as a value and is read as text", quotedText(n.Text, n.Quoted), setting.Count(n.Count, "time")))
		}
	}
}

func quotedText(text string, quoted bool) string {
	if quoted {
		return `"` + text + `"`
	}
	return text
}

// Doubtful reports whether a person has to decide something.
func (r *Report) Doubtful() bool { return len(r.Doubts) > 0 }

// Unreadable reports whether a job would refuse some input, or whether there is no readable file at all.
func (r *Report) Unreadable() bool { return len(r.Refused) > 0 || len(r.Files) == 0 }

// share describes the share of distinct values among the values of the key.
func (k *Key) share() string {
	if k.Distinct == k.Rows {
		return fmt.Sprintf("all %s differ", setting.Count(k.Rows, "row"))
	}
	return fmt.Sprintf("%s in %s", setting.Count(k.Distinct, "different value"), setting.Count(k.Rows, "row"))
}

// spec returns the columns as a key spec.
func (k *Key) spec() string {
	parts := make([]string, len(k.Columns))
	for i, name := range k.Columns {
		parts[i] = keygen.Column{Name: name}.String()
	}
	return strings.Join(parts, " + ")
}

// counts describes the share of distinct values and the rows without a value.
func (k *Key) counts() string {
	if k.Nulls == 0 {
		return k.share()
	}
	return fmt.Sprintf("%s, %d without a value", k.share(), k.Nulls)
}

// String returns the key as a key spec, with the measured counts.
func (k *Key) String() string { return cmp.Or(k.spec(), "-") + ": " + k.counts() }
