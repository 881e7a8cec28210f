package source

import (
	"context"
	"io"

	"bulkload/internal/formats/parquet"
)

// parquetFormat is Parquet, as internal/formats/parquet reads it.
type parquetFormat struct{}

func (parquetFormat) facts() facts {
	return facts{Traits: Traits{Named: true, Rows: true}, endings: []string{".parquet", ".parq", ".pq"},
		magic: []string{parquet.Magic, parquet.EncryptedMagic}, binary: true, values: true}
}

func (parquetFormat) check(*Options) error { return nil }

func (parquetFormat) probe(ctx context.Context, f *inputFile, _ []byte, o *Options) (content, error) {
	return probeGroups(ctx, f, o, "Parquet", func(raw io.ReaderAt, size int64, limit parquet.Limit) (rowFile, error) {
		return parquet.Open(raw, size, limit)
	})
}

func (parquetFormat) reader(r *Reader) splitReader {
	p := parquet.NewReader(r.in.opts.limit(), r.in.opts.MaxRecord)
	return &groupReader{rowReader: p, reader: r, begin: func(m rowFile, raw io.ReaderAt, group int, fields []Span) error {
		return p.Begin(m.(*parquet.File), raw, group, fields)
	}}
}
