package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"bulkload/internal/hadoop/frames"
	"bulkload/internal/hadoop/hbaserpc"
	"bulkload/pkg/setting"
)

const (
	// maxRowsField is ScanRequest.limit_of_rows, since HBase 2.0: the server ends the scan by itself. Older servers ignore it.
	maxRowsField = 11
	// allRows asks for as many rows as fit the chunk.
	allRows = 1<<31 - 1
	// allVersions asks for all versions of a column.
	allVersions = 1<<31 - 1
	// closeTimeout bounds the call that closes a scanner.
	closeTimeout = 2 * time.Second
)

// region reads the part of [start, stop) that is in one region. While it parses an answer, the next one is requested.
func (s *scan) region(ctx context.Context, r Region, start, stop []byte) error {
	read := &regionRead{RegionScan: RegionScan{Region: r}, wanted: s.req.OnRegion != nil}
	if read.wanted {
		began, before := time.Now(), s.rows
		defer func() {
			read.Rows, read.Took = s.rows-before, time.Since(began)
			s.req.OnRegion(read.RegionScan)
		}()
	}
	l, err := s.cluster.rpc.Connect(ctx, r.Server, hbaserpc.ClientService)
	if err != nil {
		return err
	}
	open, err := s.open(r, start, stop)
	if err != nil {
		return err
	}
	answer := &pb.ScanResponse{}
	next := l.Queue(ctx, "Scan", open, answer)
	var id uint64
	for {
		block, err := next.Wait()
		if err != nil {
			if ctx.Err() != nil && id != 0 {
				s.close(ctx, l, next, id)
			}
			return err
		}
		s.answered = true
		resp := answer
		id = resp.GetScannerId()
		read.add(resp, block)
		more := resp.GetMoreResultsInRegion() && (resp.MoreResults == nil || resp.GetMoreResults())
		if more {
			answer = &pb.ScanResponse{}
			next = l.Queue(ctx, "Scan", &pb.ScanRequest{
				ScannerId:               resp.ScannerId,
				NumberOfRows:            proto.Uint32(allRows),
				ClientHandlesPartials:   proto.Bool(true),
				ClientHandlesHeartbeats: proto.Bool(true),
				TrackScanMetrics:        proto.Bool(read.wanted),
			}, answer)
		}
		err = s.parse(resp, block)
		if err == nil && !more {
			return s.row.flush()
		}
		if err != nil {
			if more {
				s.close(ctx, l, next, id)
			}
			return err
		}
	}
}

// open returns the request that opens a scanner and asks for its first chunk.
func (s *scan) open(r Region, start, stop []byte) (*pb.ScanRequest, error) {
	if s.req.Row != nil {
		start, stop = s.req.Row, s.req.Row // which servers take for a Get (ProtobufUtil.toScan of HBase 2, Scan.isGetScan of 1)
	}
	req := &pb.ScanRequest{
		Region: r.specifier(),
		Scan: &pb.Scan{
			StartRow:      start,
			StopRow:       stop,
			MaxVersions:   proto.Uint32(s.req.Versions),
			CacheBlocks:   proto.Bool(s.req.CacheBlocks),
			MaxResultSize: proto.Uint64(uint64(s.req.ChunkBytes)),
		},
		NumberOfRows:            proto.Uint32(allRows),
		ClientHandlesPartials:   proto.Bool(true),
		ClientHandlesHeartbeats: proto.Bool(true),
		TrackScanMetrics:        proto.Bool(s.req.OnRegion != nil),
	}
	req.Scan.Column = columnsOf(s.req)
	var err error
	if req.Scan.Filter, err = filterOf(s.req); err != nil {
		return nil, err
	}
	if s.req.Raw {
		// org.apache.hadoop.hbase.client.Scan.RAW_ATTR: a Java true
		req.Scan.Attribute = []*pb.NameBytesPair{{Name: proto.String("_raw_"), Value: []byte{0xff}}}
	}
	if s.req.MinTime != 0 || s.req.MaxTime != 0 {
		req.Scan.TimeRange = &pb.TimeRange{From: proto.Uint64(uint64(s.req.MinTime))}
		if s.req.MaxTime != 0 {
			req.Scan.TimeRange.To = proto.Uint64(uint64(s.req.MaxTime))
		}
	}
	if s.req.MaxRows > 0 {
		left := min(s.req.MaxRows-s.rows, allRows)
		req.NumberOfRows = proto.Uint32(uint32(left))
		limit := frames.AppendNumber(nil, maxRowsField, uint64(left))
		req.ProtoReflect().SetUnknown(limit)
	}
	return req, nil
}

// parse passes on the rows of one answer.
func (s *scan) parse(resp *pb.ScanResponse, block []byte) error {
	if len(resp.GetResults()) > 0 {
		return errors.New("the server sent cells outside of the cell block")
	}
	partial := resp.GetPartialFlagPerResult()
	for i, n := range resp.GetCellsPerResult() {
		rest, err := s.row.add(block, n, i < len(partial) && partial[i])
		if err != nil {
			return err
		}
		block = rest
	}
	if len(block) > 0 {
		return fmt.Errorf("%w: %s after the last result", errCellBlock, setting.Count(len(block), "byte"))
	}
	return nil
}

// close closes the server's scanner, after the outstanding answer. If that fails, the server drops the scanner after a minute by itself.
func (s *scan) close(ctx context.Context, l *hbaserpc.Connection, due *hbaserpc.Call, id uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if !due.Drop(ctx) {
		return
	}
	req := &pb.ScanRequest{ScannerId: proto.Uint64(id), CloseScanner: proto.Bool(true), NumberOfRows: proto.Uint32(0)}
	if err := l.Invoke(ctx, "Scan", req, &pb.ScanResponse{}); err != nil && !expired(err) {
		s.cluster.log.Debug("scanner not closed", "error", err)
	}
}

// ScanParallel reads several regions at a time, up to workers. part is the index of the region in the table, from 0, when the scan began;
// the rows of one part are passed in order, from one goroutine at a time. Several goroutines call fn. The first error ends the scan.
func (c *Cluster) ScanParallel(ctx context.Context, req ScanRequest, workers int, fn func(part int, row Row) error) error {
	return c.parallel(ctx, req, workers, func(ctx context.Context, i int, part ScanRequest) error {
		return c.Scan(ctx, part, func(row Row) error { return fn(i, row) })
	})
}

// parallel calls fn for the part of each region, for up to workers at a time.
func (c *Cluster) parallel(ctx context.Context, req ScanRequest, workers int, fn func(ctx context.Context, i int, part ScanRequest) error) error {
	regions, err := c.Regions(ctx, req.Table)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(workers, 1))
	for i, r := range regions {
		part, some := req.within(r)
		if !some {
			continue
		}
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fn(ctx, i, part)
		})
	}
	return g.Wait()
}

// within restricts a request to a region. some is false if the two have no rows in common.
func (r ScanRequest) within(region Region) (part ScanRequest, some bool) {
	if len(region.End) > 0 && bytes.Compare(region.End, r.Start) <= 0 || len(r.Stop) > 0 && bytes.Compare(region.Start, r.Stop) >= 0 {
		return r, false
	}
	part = r
	if bytes.Compare(region.Start, part.Start) > 0 {
		part.Start = region.Start
	}
	if len(part.Stop) == 0 || len(region.End) > 0 && bytes.Compare(region.End, part.Stop) < 0 {
		part.Stop = region.End
	}
	return part, true
}

// columnsOf returns the columns that a request reads, one entry for each family. A family without qualifiers is read whole.
func columnsOf(r ScanRequest) []*pb.Column {
	var columns []*pb.Column
	at := map[string]*pb.Column{}
	for _, family := range r.Families {
		if at[family] == nil {
			at[family] = &pb.Column{Family: []byte(family)}
			columns = append(columns, at[family])
		}
	}
	whole := len(columns)
	for _, c := range r.Columns {
		entry := at[c.Family]
		if entry == nil {
			entry = &pb.Column{Family: []byte(c.Family)}
			at[c.Family] = entry
			columns = append(columns, entry)
		}
		if !slices.Contains(columns[:whole], entry) {
			entry.Qualifier = append(entry.Qualifier, c.Qualifier)
		}
	}
	return columns
}

// filterOf returns the server's filter for the rows and the conditions of a request, nil if there are none. The filter for rows seeks from one
// to the next (HBase 1.1 and later). A row without a condition's column does not pass. Without conditions, KeysOnly empties the values.
func filterOf(r ScanRequest) (*pb.Filter, error) {
	var all []filter.Filter
	if len(r.Rows) > 0 {
		ranges := make([]*filter.RowRange, len(r.Rows))
		for i, row := range r.Rows {
			ranges[i] = filter.NewRowRange(row, row, true, true)
		}
		all = append(all, filter.NewMultiRowRangeFilter(ranges))
	}
	for _, c := range r.Where {
		add := func(op filter.CompareType, value []byte) {
			comparator := filter.NewBinaryComparator(filter.NewByteArrayComparable(value))
			all = append(all, filter.NewSingleColumnValueFilter([]byte(c.Family), c.Qualifier, op, comparator, true, true))
		}
		if c.From != nil || c.To == nil {
			add(filter.GreaterOrEqual, c.From)
		}
		if c.To != nil {
			add(filter.LessOrEqual, c.To)
		}
	}
	if r.KeysOnly && len(r.Where) == 0 {
		all = append(all, filter.NewKeyOnlyFilter(false))
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0].ConstructPBFilter()
	}
	return filter.NewList(filter.MustPassAll, all...).ConstructPBFilter()
}

// RegionScan holds the counts of a scan of one region.
type RegionScan struct {
	Region Region
	Rows   int64         // passed to the caller
	Bytes  int64         // of cells, as sent
	Calls  int           // answers of the server
	Took   time.Duration // including the time that the caller's function took
	// Metrics are the server's own counts, by its names (org.apache.hadoop.hbase.client.metrics.ServerSideScanMetrics). HBase 2.6.4 reports
	// MetricRowsScanned, MetricRowsFiltered and MetricBlockBytes and, since 2.6.3, bytes and reads by their source; older versions report
	// less. Nil if there are none.
	Metrics map[string]int64
}

// Names of the server's counts.
const (
	MetricRowsScanned  = "ROWS_SCANNED"
	MetricRowsFiltered = "ROWS_FILTERED"
	// MetricBlockBytes is the uncompressed size of the blocks that a scan read, from cache or disk.
	MetricBlockBytes = "BLOCK_BYTES_SCANNED"
	// MetricBlockReads counts blocks read from the file system, so not those of the block cache.
	MetricBlockReads = "BLOCK_READ_OPS_COUNT"
)

// scanMetricsField is ScanResponse.scan_metrics, for which the library has no type: a message of repeated name and value.
const scanMetricsField = 10

// regionRead builds a RegionScan from answers.
type regionRead struct {
	RegionScan
	wanted bool
}

func (r *regionRead) add(resp *pb.ScanResponse, block []byte) {
	if !r.wanted {
		return
	}
	r.Calls++
	r.Bytes += int64(len(block))
	metrics, ok := frames.Bytes(resp.ProtoReflect().GetUnknown(), scanMetricsField)
	if !ok {
		return
	}
	if r.Metrics == nil {
		r.Metrics = map[string]int64{}
	}
	frames.Fields(metrics, func(num protowire.Number, _ uint64, pair []byte) {
		name, ok := frames.Bytes(pair, 1)
		if value, has := varintField(pair, 2); num == 1 && ok && has {
			r.Metrics[string(name)] += int64(value)
		}
	})
}
