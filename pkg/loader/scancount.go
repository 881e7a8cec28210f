package loader

import (
	"time"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"

	"bulkload/internal/hadoop/frames"
)

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
	metrics, ok := bytesField(resp.ProtoReflect().GetUnknown(), scanMetricsField)
	if !ok {
		return
	}
	if r.Metrics == nil {
		r.Metrics = map[string]int64{}
	}
	frames.Fields(metrics, func(num protowire.Number, _ uint64, pair []byte) {
		name, ok := bytesField(pair, 1)
		if value, has := varintField(pair, 2); num == 1 && ok && has {
			r.Metrics[string(name)] += int64(value)
		}
	})
}
