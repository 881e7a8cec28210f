package hfiletext

import (
	"bufio"
	"fmt"
	"io"

	"bulkload/internal/pipeline/filecheck"
	"bulkload/pkg/hfile"
	"bulkload/pkg/setting"
)

// PrintMeta prints what an HFile says of itself.
func PrintMeta(w io.Writer, v filecheck.HFileMeta) {
	fmt.Fprintf(w, "%s\n  HFile %s, %s, %s, %s\n", v.File, v.Version, setting.Bytes(v.Bytes), setting.Count(v.Cells, "cell"), setting.Count(v.IndexLevels, "index level"))
	fmt.Fprintf(w, "  compression %s, encoding %s, bloom %s (%s)\n", v.Compression, v.Encoding, v.Bloom, setting.Count(v.BloomKeys, "key"))
	fmt.Fprintf(w, "  rows %s … %s\n", v.FirstRow, v.LastRow)
	for _, e := range v.Info {
		fmt.Fprintf(w, "  %-30s %s\n", e.Key, e.Text)
	}
}

// PrintCells prints every cell of an HFile, one a line, in the form that [Write] reads.
func PrintCells(out io.Writer, r *hfile.Reader) error {
	w := bufio.NewWriterSize(out, 1<<16)
	s := r.Scan()
	var line []byte
	for s.Next() {
		line = append(hfile.AppendCellText(line[:0], s.Cell()), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	return w.Flush()
}
