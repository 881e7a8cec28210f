package build

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"bulkload/internal/base/workers"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/encode"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
)

// region is a unit of work of pass 2: the rows and bytes of a region, duplicates included.
type region struct {
	i          int // in its table
	rows, size int64
}

// tableRegion is a region with the writer of its table.
type tableRegion struct {
	writers *writers
	region
}

// writeAll writes the regions of all tables with the given number of workers.
func writeAll(ctx context.Context, n int, tables []*writers) error {
	var regions []tableRegion
	total := progress.Amount{}
	for _, w := range tables {
		for i := range w.plan.Ranges.Len() {
			if rows, size := w.sort.Size(w.from + i); rows > 0 && !w.resume.has(w.from+i) && (w.only == nil || w.only(w.from+i)) {
				regions = append(regions, tableRegion{w, region{i, rows, size}})
				total.Rows += rows
			}
		}
	}
	slices.SortFunc(regions, func(a, b tableRegion) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.writers.from+a.i, b.writers.from+b.i))
	})
	tables[0].events.Total("write", total)
	for _, w := range tables {
		if l, ok := w.out.FS.(hdfsio.Local); ok {
			w.out.FS = l.Grouped()
		}
	}
	// Indexes are last: the records without a row in the first table are known only when that table is written.
	data, indexes := regions, []tableRegion(nil)
	if len(tables) > 1 {
		slices.SortStableFunc(regions, func(a, b tableRegion) int {
			return cmp.Compare(btoi(a.writers.plan.IsIndex()), btoi(b.writers.plan.IsIndex()))
		})
		at := slices.IndexFunc(regions, func(r tableRegion) bool { return r.writers.plan.IsIndex() })
		if at >= 0 {
			data, indexes = regions[:at], regions[at:]
		}
	}
	err := writeRegions(ctx, n, tables, data)
	if err == nil && len(indexes) > 0 {
		if s, ok := tables[0].sort.(interface{ SealLost() error }); ok {
			err = s.SealLost()
		}
		if err == nil {
			err = writeRegions(ctx, n, tables, indexes)
		}
	}
	for _, w := range tables {
		w.sortFiles()
	}
	return err
}

// sortFiles sorts the files in the order of their rows.
func (w *writers) sortFiles() {
	slices.SortFunc(w.files, func(a, b manifest.File) int { return cmp.Or(a.Region-b.Region, cmp.Compare(a.Family, b.Family)) })
}

// writeRegions writes some regions with the given number of workers.
func writeRegions(ctx context.Context, n int, tables []*writers, regions []tableRegion) error {
	if len(regions) == 0 {
		return nil
	}
	var next atomic.Int64
	helpers := encode.NewIdle(n)
	for _, w := range tables {
		w.helpers = helpers
	}
	return workers.Run(ctx, n, func(ctx context.Context, _ int) error {
		if err := takeRegions(ctx, regions, &next, max(completing/n, 1)); err != nil {
			helpers.Leave()
			return err
		}
		helpers.Help()
		return nil
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rewrite writes the region from the sorted rows until its files are complete, after an earlier write has failed.
func (r tableRegion) rewrite(ctx context.Context, failed error) error {
	if failed == nil {
		return nil
	}
	return r.writers.writeAgain(ctx, r.region, failed)
}

// named adds the table to an error, if there are several tables.
func (w *writers) named(err error) error {
	if err == nil || !w.several {
		return err
	}
	return fmt.Errorf("table %s: %w", w.plan.Table, err)
}

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

// sinkPool keeps the sinks of finished regions for reuse. All tables of a build share it, so that there are never more sets of sinks, idle or
// in use, than workers write at a time: these are what the memory budget has room for.
type sinkPool struct {
	index int64 // bytes that the indexes of a set may take, 0 for any number

	mu   sync.Mutex
	idle []idleSinks // those given last are last
}

// idleSinks are the sinks of a finished region of a table, one for each family.
type idleSinks struct {
	table *writers
	sinks []*encode.Sink
}

// take returns a sink for each family of a table. It reuses the sinks of a finished region of the table if there are any; else new ones take the
// place of those of another table.
func (p *sinkPool) take(w *writers, out func(family int) io.Writer) ([]*encode.Sink, error) {
	sinks := p.remove(w)
	if sinks == nil {
		return encode.NewSinks(w.plan, p.index, out)
	}
	for i, s := range sinks {
		s.Reset(out(i))
	}
	return sinks, nil
}

// remove removes one set of sinks, if there is any, and returns it if it is of the given table.
func (p *sinkPool) remove(w *writers) []*encode.Sink {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	for i, s := range slices.Backward(p.idle) {
		if s.table == w {
			p.idle = slices.Delete(p.idle, i, i+1)
			return s.sinks
		}
	}
	p.idle = slices.Delete(p.idle, 0, 1)
	return nil
}

// give keeps sinks for reuse, if they can be reused. Their files were finished without an error.
func (p *sinkPool) give(w *writers, sinks []*encode.Sink) {
	for _, s := range sinks {
		if !s.Resets() {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, idleSinks{w, sinks})
}
