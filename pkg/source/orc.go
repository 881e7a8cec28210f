package source

import (
	"context"
	"io"
	"path"
	"slices"

	"bulkload/internal/formats/orc"
	"bulkload/internal/formats/parquet"
	"bulkload/pkg/source/listing"
)

// orcFormat is ORC, as internal/formats/orc reads it.
type orcFormat struct{}

func (orcFormat) facts() facts {
	return facts{Traits: Traits{Named: true, Rows: true}, endings: []string{".orc"}, magic: []string{orc.Magic}, ending: orc.Ends, binary: true, values: true}
}

func (orcFormat) check(*Options) error { return nil }

func (orcFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	return probeGroups(ctx, f, o, "ORC", func(raw io.ReaderAt, size int64, limit parquet.Limit) (rowFile, error) {
		m, err := orc.Open(raw, size, limit)
		if err == nil && slices.Equal(m.Names(), []string{"operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"}) {
			err = listing.RefuseTransactional(path.Dir(f.Path))
		}
		return m, err
	})
}

func (orcFormat) reader(r *Reader) splitReader {
	p := orc.NewReader(r.in.opts.limit(), r.in.opts.MaxRecord)
	return &groupReader{rowReader: p, reader: r, begin: func(m rowFile, raw io.ReaderAt, group int, fields []Span) error {
		return p.Begin(m.(*orc.File), raw, group, fields)
	}}
}
