// FullScan: a table read once by HBase's own client as `--verify full` reads it, for measurements: all cells of some
// timestamps, deleted ones too, each hashed. One region after the other, as a Scan of a whole table goes, or several
// regions at a time.

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32C;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;

final class FullScan {
  private FullScan() {}

  /** Rows, cells, a sum of hashes and milliseconds, of the timestamps [from, to). */
  static String run(Connection connection, TableName table, long from, long to, int threads) throws Exception {
    long start = System.nanoTime();
    long[] sums = new long[3];
    if (threads <= 1) {
      add(sums, scan(connection, table, from, to, new byte[0], new byte[0]));
    } else {
      ExecutorService pool = Executors.newFixedThreadPool(threads);
      try {
        List<Future<long[]>> parts = new ArrayList<>();
        for (HRegionLocation l : connection.getRegionLocator(table).getAllRegionLocations()) {
          parts.add(pool.submit(() -> scan(connection, table, from, to, l.getRegion().getStartKey(), l.getRegion().getEndKey())));
        }
        for (Future<long[]> part : parts) {
          add(sums, part.get());
        }
      } finally {
        pool.shutdownNow();
      }
    }
    return String.format("rows=%d cells=%d sum=%016x ms=%d", sums[0], sums[1], sums[2], (System.nanoTime() - start) / 1_000_000);
  }

  private static void add(long[] sums, long[] more) {
    for (int i = 0; i < sums.length; i++) {
      sums[i] += more[i];
    }
  }

  private static long[] scan(Connection connection, TableName name, long from, long to, byte[] first, byte[] end) throws Exception {
    long[] sums = new long[3];
    CRC32C crc = new CRC32C();
    Scan scan = new Scan().withStartRow(first).withStopRow(end).setTimeRange(from, to).setRaw(true).setCacheBlocks(false)
        .setMaxResultSize(4 << 20).setCaching(Integer.MAX_VALUE);
    try (Table t = connection.getTable(name); ResultScanner scanner = t.getScanner(scan)) {
      for (Result r : scanner) {
        crc.reset();
        for (Cell c : r.rawCells()) {
          sums[1]++;
          crc.update(c.getRowArray(), c.getRowOffset(), c.getRowLength());
          crc.update(c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength());
          crc.update(c.getValueArray(), c.getValueOffset(), c.getValueLength());
        }
        sums[0]++;
        sums[2] += crc.getValue();
      }
    }
    return sums;
  }
}
