// FilterCheck asks the Bloom filters of a file for every row, column and delete marker that is in it, and for some that are not.

import java.io.DataInput;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.util.BloomFilter;
import org.apache.hadoop.hbase.util.BloomFilterFactory;
import org.apache.hadoop.hbase.util.Bytes;

class FilterCheck {
  /** A filter of fewer keys has a rate of false positives that is luck. */
  private static final int JUDGED_KEYS = 1000;

  final BloomType type;
  final BloomFilter general, deletes; // null where the file has none
  long keys;

  private final Consumer<String> error;
  private final int prefix; // bytes of a row that are the key
  private KeyValue last;
  private byte[] lastKey, lastDeleted;
  private long denied, deletedRows, deletedDenied;

  FilterCheck(HFile.Reader reader, Consumer<String> error) throws IOException {
    this.error = error;
    Map<byte[], byte[]> info = reader.getHFileInfo();
    byte[] name = info.get(HStoreFile.BLOOM_FILTER_TYPE_KEY);
    type = name == null ? BloomType.NONE : BloomType.valueOf(Bytes.toString(name));
    prefix = type == BloomType.ROWPREFIX_FIXED_LENGTH ? Bytes.toInt(info.get(HStoreFile.BLOOM_FILTER_PARAM_KEY)) : Integer.MAX_VALUE;
    general = filter(reader.getGeneralBloomFilterMetadata(), reader);
    deletes = filter(reader.getDeleteBloomFilterMetadata(), reader);
    if ((general == null) != (type == BloomType.NONE)) error.accept("the file info says bloom type " + type + ", the filter says otherwise");
  }

  private static BloomFilter filter(DataInput metadata, HFile.Reader reader) throws IOException {
    return metadata == null ? null : BloomFilterFactory.createFromMeta(metadata, reader);
  }

  private byte[] key(Cell cell) {
    byte[] row = CellUtil.cloneRow(cell);
    return row.length > prefix ? Arrays.copyOf(row, prefix) : row;
  }

  private boolean admits(Cell cell) {
    if (type == BloomType.ROWCOL) return general.contains(PrivateCellUtil.createFirstOnRowCol(cell), null, type);
    byte[] key = key(cell);
    return general.contains(key, 0, key.length, null);
  }

  /** Takes the next cell of the file. */
  void take(KeyValue cell) {
    if (general != null) {
      byte[] key = key(cell);
      boolean column = type == BloomType.ROWCOL && last != null && !CellUtil.matchingQualifier(last, cell);
      if (column || !Arrays.equals(key, lastKey)) {
        keys++;
        if (!admits(cell)) denied++;
      }
      lastKey = key;
      last = cell;
    }
    if (!CellFacts.deletesFamily(cell)) return;
    byte[] row = CellUtil.cloneRow(cell);
    if (!Arrays.equals(row, lastDeleted)) {
      deletedRows++;
      lastDeleted = row;
      boolean needless = deletes == null && type == BloomType.ROWCOL; // HBase writes no such filter beside that of columns
      if (!needless && (deletes == null || !deletes.contains(row, 0, row.length, null))) deletedDenied++;
    }
  }

  /** Holds the filters against the cells that were taken. */
  void compare() {
    if (denied > 0) error.accept("the bloom filter denies " + denied + " of " + keys + " keys");
    if (general != null && general.getKeyCount() != keys) error.accept("the bloom filter counts " + general.getKeyCount() + " of " + keys + " keys");
    if (deletedDenied > 0) error.accept("the delete-family filter denies " + deletedDenied + " of " + deletedRows + " rows");
    if (deletes != null && deletes.getKeyCount() != deletedRows) {
      error.accept("the delete-family filter counts " + deletes.getKeyCount() + " of " + deletedRows + " rows");
    }
  }

  /** Asks a filter of rows or columns for keys that are not there, and gives the part of them that it admits. */
  double probe(FileLayout.Filter made, List<KeyValue> sample, int probes) {
    Random random = new Random(2);
    int admitted = 0;
    for (int i = 0; i < probes; i++) {
      KeyValue model = sample.get(random.nextInt(sample.size()));
      byte[] end = new byte[12];
      random.nextBytes(end);
      byte[] row = CellUtil.cloneRow(model); // a row beside it: each chunk of the filter has a range of rows
      byte[] absent = Bytes.add(row.length + end.length > Short.MAX_VALUE ? Arrays.copyOf(row, Short.MAX_VALUE - end.length) : row, end);
      if (admits(new KeyValue(absent, CellUtil.cloneFamily(model), CellUtil.cloneQualifier(model)))) admitted++;
    }
    double rate = (double) admitted / probes, fair = fairRate(made);
    if (keys >= JUDGED_KEYS && admitted > 2 * fair * probes + 10) {
      error.accept("bloom false-positive rate " + rate + ", of its size and hashes it is " + fair);
    }
    return rate;
  }

  /** The rate of a filter of so many bits, hashes and keys. */
  private static double fairRate(FileLayout.Filter f) {
    return Math.pow(1 - Math.exp(-(double) f.hashes() * f.keys() / (8.0 * f.bytes())), f.hashes());
  }
}
