package build

import (
	"context"
	"io"
	"path"
	"strconv"

	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/encode"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// encode writes the rows of one region into files without their final names.
// Each attempt uses names of its own: the file of a failed attempt may still
// have a lease. The files of a failed attempt are aborted.
func (w *writers) encode(ctx context.Context, r region, attempt int) (_ *pendingRegion, err error) {
	// A worker that has waited for the files of others passes the gate after that.
	if err := w.out.Uploads.Enter(ctx); err != nil {
		return nil, err
	}
	p := &pendingRegion{part: encode.NewRegion(w.sample, w.events.Merged, w.decoder)}
	defer func() {
		if err != nil {
			w.events.Merged(-p.part.Taken) // the region is written again
			p.abort()
			w.out.Uploads.Leave()
		}
	}()
	if err := progress.Pass(ctx, w.gate); err != nil {
		return nil, err
	}
	for _, family := range w.plan.Families {
		p.files = append(p.files, w.create(ctx, r, family, attempt))
	}
	sinks, err := w.sinks.take(w, func(i int) io.Writer { return p.files[i].out })
	if err != nil {
		return nil, err
	}
	for _, s := range sinks {
		if w.helpers != nil { // a reduce task writes its regions one after the other
			s.Share(w.helpers)
		}
	}
	dups, err := w.encodeRows(ctx, r, &p.part, sinks)
	if err != nil {
		return nil, w.indexError(r, err)
	}
	for i, s := range sinks {
		stats, err := s.Finish()
		if err != nil {
			return nil, w.indexError(r, encode.WriteError(err))
		}
		f := p.files[i]
		f.FirstRow, f.LastRow, f.Rows, f.Cells, f.Bytes = stats.FirstRow, stats.LastRow, s.Rows, stats.Cells, stats.Bytes
	}
	w.sinks.give(w, sinks)
	before := w.sort.LeftOut(w.from+r.i) + dups
	p.counts = regionCounts{dups: before + p.part.Dups, records: before + p.part.Taken, joined: p.part.Joined, noCells: p.part.NoCells}
	return p, nil
}

// create prepares the file of a region and family. It is created while rows are encoded, before its first bytes are written.
func (w *writers) create(ctx context.Context, r region, family cells.FamilySpan, attempt int) *pendingFile {
	name := w.plan.FileName(family.Name, r.i)
	p := &pendingFile{writing: path.Join(w.out.Dir, w.out.WritingOf(family.Name), name)}
	if attempt > 0 {
		p.writing += "." + strconv.Itoa(attempt)
	}
	p.Name, p.Family, p.Region = path.Join(family.Name, name), family.Name, r.i
	o := hdfsio.CreateOptions{Perm: w.out.FileMode, BlockSize: w.blockSize(family, r.rows, r.size), Near: w.plan.Near.Of(w.plan.Ranges.Start(r.i)), Interim: true}
	p.sink = &lateWriter{create: func() (hdfsio.Writer, error) { return w.out.Create(ctx, p.writing, o) }}
	p.out = hdfsio.NewOverlapped(p.sink, w.events.Written)
	return p
}

// encodeRows appends the rows of a region to its files, and returns the number of rows that were left out.
func (w *writers) encodeRows(ctx context.Context, r region, part *encode.Region, sinks []*encode.Sink) (dups int64, err error) {
	rows := encode.NewPieceWriter(w.helpers, w.plan, part, sinks)
	helped := w.helpers != nil && encode.Helped(w.plan)
	if helped {
		if done, err := rows.Ranges(ctx, w.sort, w.from+r.i, r.rows, r.size); done {
			return rows.Dups, w.named(err)
		}
	}
	m, finish, err := w.sort.Region(w.from + r.i)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	if helped {
		err = rows.Merge(ctx, m)
	} else {
		_, err = part.Encode(ctx, m, w.plan, sinks, nil)
	}
	if err != nil {
		return 0, w.named(readChunks(err))
	}
	return m.Duplicates(), finish(part)
}

// blockSize returns an upper estimate of the size of the file: then the file is
// one block and its write needs no change of pipeline. It is not much larger,
// because a DataNode without that much space is skipped.
func (w *writers) blockSize(f cells.FamilySpan, rows, raw int64) int64 {
	const unit, most = 1 << 20, 8 << 30
	perCell := int64(24) // lengths, timestamp, type, tags, sequence id
	qualifiers := w.plan.Qualifiers(f)
	for _, q := range qualifiers {
		perCell = max(perCell, int64(24+len(q)))
	}
	if f.Encoding == hfile.EncodingNone && rows > 0 {
		perCell += raw / rows / 2 // the key is repeated in every cell
	}
	bound := raw + rows*int64(len(qualifiers))*perCell
	if f.Compression != hfile.CompressionNone {
		bound /= 2
	}
	return min(bound/unit*unit+4*unit, most)
}
