// CellFacts gathers what the cells of a file say: their order, the file info that follows from them, and a sample to seek.

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparatorImpl;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.KeyValueUtil;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.TimeRangeTracker;
import org.apache.hadoop.hbase.util.Bytes;

class CellFacts {
  private static final int SAMPLE = 1000;

  long cells, duplicates;
  /** Cells of different keys, of each key the first, drawn evenly. */
  final List<KeyValue> sample = new ArrayList<>();

  private final Consumer<String> error;
  private final Random random = new Random(1);
  private final TimeRangeTracker times = TimeRangeTracker.create(TimeRangeTracker.Type.NON_SYNC);
  private KeyValue first, last;
  private byte[] biggestKey;
  private long keyBytes, valueBytes, biggest, deletedFamilies, earliestPut = Long.MAX_VALUE;

  CellFacts(Consumer<String> error) { this.error = error; }

  static int compare(Cell a, Cell b) { return CellComparatorImpl.COMPARATOR.compare(a, b, true); }

  static boolean deletesFamily(Cell c) { return PrivateCellUtil.isDeleteFamily(c) || PrivateCellUtil.isDeleteFamilyVersion(c); }

  /** Takes the next cell of the file, and gives a copy that outlives the scanner's next step. */
  KeyValue take(Cell scanned) {
    KeyValue cell = KeyValueUtil.copyToNewKeyValue(scanned);
    int step = last == null ? -1 : compare(last, cell);
    if (step > 0) error.accept("cell " + cells + " is out of order");
    if (last != null && !CellUtil.matchingFamily(last, cell)) error.accept("cell " + cells + " is of another family");
    if (first == null) first = cell;
    last = cell;
    cells++;
    if (step == 0) {
      duplicates++;
    } else {
      draw(cell);
    }
    count(cell);
    return cell;
  }

  private void draw(KeyValue cell) {
    if (sample.size() < SAMPLE) {
      sample.add(cell);
      return;
    }
    long place = random.nextLong(cells - duplicates);
    if (place < SAMPLE) sample.set((int) place, cell);
  }

  private void count(KeyValue cell) {
    int key = cell.getKeyLength(), value = cell.getValueLength(), tags = cell.getTagsLength();
    keyBytes += key;
    valueBytes += value;
    // as in a block without encoding: two lengths, key, value, tags with their length; and HBase adds four bytes
    int size = 2 * Integer.BYTES + key + value + (tags > 0 ? Short.BYTES + tags : 0) + Integer.BYTES;
    if (size > biggest) {
      biggest = size;
      biggestKey = LayoutDump.key(cell);
    }
    if (deletesFamily(cell)) deletedFamilies++;
    if (cell.getTypeByte() == KeyValue.Type.Put.getCode()) earliestPut = Math.min(earliestPut, cell.getTimestamp());
    times.includeTimestamp(cell);
  }

  /** Holds what the file says of its cells against them. */
  void compare(HFile.Reader reader) throws Exception {
    if (reader.getEntries() != cells) error.accept("the trailer counts " + reader.getEntries() + " of " + cells + " cells");
    if (cells == 0) return;
    if (!reader.getFirstKey().filter(k -> compare(k, first) == 0).isPresent()) error.accept("the first key is another");
    if (!reader.getLastKey().filter(k -> compare(k, last) == 0).isPresent()) error.accept("the last key is another");
    if (!reader.midKey().isPresent()) error.accept("there is no mid key");
    Map<byte[], byte[]> info = reader.getHFileInfo();
    expect(info, "hfile.AVG_KEY_LEN", Bytes.toBytes((int) (keyBytes / cells)));
    expect(info, "hfile.AVG_VALUE_LEN", Bytes.toBytes((int) (valueBytes / cells)));
    expect(info, "hfile.LEN_OF_BIGGEST_CELL", Bytes.toBytes(biggest));
    expect(info, "hfile.KEY_OF_BIGGEST_CELL", biggestKey);
    expect(info, "DELETE_FAMILY_COUNT", Bytes.toBytes(deletedFamilies));
    expect(info, "EARLIEST_PUT_TS", Bytes.toBytes(earliestPut));
    expect(info, "TIMERANGE", TimeRangeTracker.toByteArray(times));
  }

  private void expect(Map<byte[], byte[]> info, String name, byte[] want) {
    byte[] got = info.get(Bytes.toBytes(name));
    if (!Arrays.equals(got, want)) {
      error.accept(name + " is " + (got == null ? "missing" : LayoutDump.hex(got)) + ", of these cells it is " + LayoutDump.hex(want));
    }
  }

  /** Seeks each cell of the sample, and what stands before its row; gives for how many cells that went wrong. */
  int seek(HFile.Reader reader, Configuration conf) throws Exception {
    HFileScanner scanner = reader.getScanner(conf, false, true, false);
    List<KeyValue> order = new ArrayList<>(sample);
    Collections.shuffle(order, random);
    int wrong = 0;
    for (KeyValue cell : order) {
      boolean found = scanner.seekTo(cell) == 0 && same(scanner.getCell(), cell);
      if (!found || !atRow(scanner, cell)) wrong++;
    }
    return wrong;
  }

  /**
   * Puts the scanner at the last cell before the row and then at the next, which must be the row's. Within a row HBase never
   * seeks what stands before a cell, and with ROW_INDEX_V1 it would find another.
   */
  private boolean atRow(HFileScanner scanner, Cell cell) throws Exception {
    Cell start = PrivateCellUtil.createFirstOnRow(cell);
    boolean moved = scanner.seekBefore(start) ? compare(scanner.getCell(), start) < 0 && scanner.next() : CellUtil.matchingRows(first, cell) && scanner.seekTo();
    return moved && CellUtil.matchingRows(scanner.getCell(), cell);
  }

  private static boolean same(Cell a, Cell b) {
    return compare(a, b) == 0 && CellUtil.matchingValue(a, b) && Arrays.equals(PrivateCellUtil.cloneTags(a), PrivateCellUtil.cloneTags(b));
  }
}
