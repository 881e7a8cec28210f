package build

import (
	"strings"

	"bulkload/internal/model/progress"
	"bulkload/internal/model/spec"
	"bulkload/pkg/source"
)

// readingOf returns a summary of how the files are read.
func readingOf(s spec.Job, files []source.FileInfo) *progress.Reading {
	r := &progress.Reading{Ways: []progress.Way{}, Where: s.Where}
	ways, partitions := map[progress.Way]int{}, map[string]bool{}
	lacking, passed := columnGroups{list: &r.Lacking}, columnGroups{list: &r.PassedOver}
	for _, f := range files {
		w := progress.Way{Format: string(f.Format), Detected: s.Format == "" && (s.Text() == nil || f.Dialect == ""), Dialect: f.Dialect, Settings: f.Settings}
		if f.Compression != "" {
			w.Format += "." + f.Compression
		}
		i, ok := ways[w]
		if !ok {
			i = len(r.Ways)
			ways[w] = i
			r.Ways = append(r.Ways, w)
		}
		r.Ways[i].Files++
		for _, name := range f.Partitions {
			if !partitions[name] {
				partitions[name] = true
				r.Partitions = append(r.Partitions, name)
			}
		}
		lacking.add(f.Missing, f.Path)
		passed.add(f.Ignored, f.Path)
	}
	return r
}

// columnGroups groups files by their columns.
type columnGroups struct {
	list *[]progress.FileColumns
	at   map[string]int
}

func (g *columnGroups) add(columns []string, path string) {
	if len(columns) == 0 {
		return
	}
	key := strings.Join(columns, "\x00")
	i, ok := g.at[key]
	if !ok {
		if g.at == nil {
			g.at = map[string]int{}
		}
		i = len(*g.list)
		g.at[key] = i
		*g.list = append(*g.list, progress.FileColumns{Columns: columns})
	}
	(*g.list)[i].Files = append((*g.list)[i].Files, path)
}

// maxNoted is the maximum number of formats, and of groups of files, that are logged with a line each; maxNamed is the maximum number of
// columns in a line.
const (
	maxNoted = 10
	maxNamed = 20
)

// noteReading logs how the inputs are read, in a bounded number of lines.
func noteReading(e progress.Events, r *progress.Reading, files int) {
	for i, w := range r.Ways {
		if i == maxNoted {
			e.Note("inputs detected in more ways", "ways", len(r.Ways)-i)
			break
		}
		kv := []any{"files", w.Files, "format", w.Format, "detected", w.Detected}
		if w.Dialect != "" {
			kv = append(kv, "dialect", w.Dialect)
		}
		if w.Settings != "" {
			kv = append(kv, "settings", w.Settings)
		}
		e.Note("inputs detected", kv...)
	}
	if len(r.Partitions) > 0 {
		e.Note("partition directories give columns", "columns", strings.Join(r.Partitions, ","), "where", strings.Join(r.Where, ", "))
	}
	noteColumns(e, "files lack columns, which are NULL there", r.Lacking, files)
	noteColumns(e, "files have columns that are ignored", r.PassedOver, files)
}

func noteColumns(e progress.Events, msg string, list []progress.FileColumns, files int) {
	for i, l := range list {
		if i == maxNoted {
			e.Note(msg, "files", progress.CountFiles(list[i:]), "of", files)
			return
		}
		e.Note(msg, "files", len(l.Files), "of", files, "columns", someOf(l.Columns), "first", l.Files[0])
	}
}

// someOf joins the first names of a list.
func someOf(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ",")
	}
	return strings.Join(names[:maxNamed], ",") + ",…"
}
