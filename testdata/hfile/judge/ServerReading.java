// ServerReading lets HBase's own classes read HFiles as a region server does, many files in one JVM.
//
// A line on standard input is the name of a local file. The answer is one line of fields separated by tabs:
//   reads CELLS SHA256-OF-CELLS META    HBase reads the file and finds by seeks and through the filters what it scans
//   misreads WHAT                       it reads the file, and finds something else that way
//   refuses WHAT                        it does not read the file, or goes on without a checksum or a filter
// META is what HBase says of the file as a whole. The cells are digested as lines of CellLines.

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparatorImpl;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.KeyValueUtil;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.fs.HFileSystem;
import org.apache.hadoop.hbase.io.TimeRange;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.StoreFileInfo;
import org.apache.hadoop.hbase.regionserver.StoreFileReader;
import org.apache.hadoop.hbase.regionserver.StoreFileScanner;
import org.apache.hadoop.hbase.util.Bytes;

class ServerReading {
  static final int DEADLINE_SECONDS = 60;

  static void serve(InputStream files, PrintStream answers) throws Exception {
    ExecutorService work = Executors.newCachedThreadPool(r -> {
      Thread t = new Thread(r);
      t.setDaemon(true);
      return t;
    });
    BufferedReader names = new BufferedReader(new InputStreamReader(files, StandardCharsets.UTF_8));
    String name;
    while ((name = names.readLine()) != null) {
      final String file = name;
      Future<String> verdict = work.submit(() -> judge(file));
      String answer;
      try {
        answer = verdict.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        answer = "refuses\tno end after " + DEADLINE_SECONDS + " s";
      } catch (ExecutionException e) {
        answer = "refuses\t" + e.getCause();
      }
      answers.println(answer.replace('\n', ' ').replace('\r', ' '));
      answers.flush();
    }
  }

  static class Misread extends Exception {
    Misread(String what) { super(what); }
  }

  static String judge(String name) throws Exception {
    Configuration conf = CellLines.configuration();
    long failures = HFile.getChecksumFailuresCount();
    try {
      FileSystem fs = new HFileSystem(conf, true);
      File f = new File(name).getAbsoluteFile();
      Path path = new Path(f.toURI());
      bulkLoadChecks(fs, path, conf);
      StoreFileInfo info = new StoreFileInfo(conf, fs, 0L, path, f.length(), null, null, true);
      HStoreFile file = new HStoreFile(info, BloomType.ROW, CacheConfig.DISABLED);
      file.initReader();
      String verdict;
      try {
        verdict = read(file, file.getReader(), conf);
      } finally {
        file.closeStoreFile(true);
      }
      if (HFile.getChecksumFailuresCount() > failures) return "refuses\tchecksum";
      return verdict;
    } catch (Misread e) {
      return "misreads\t" + e.getMessage();
    } catch (Throwable e) {
      return "refuses\t" + e + (e.getCause() == null ? "" : ", " + e.getCause());
    }
  }

  /** What BulkLoadHFilesTool and HStore.assertBulkLoadHFileOk, with its verification on, ask of a file. */
  static void bulkLoadChecks(FileSystem fs, Path path, Configuration conf) throws Exception {
    if (!HFile.isHFileFormat(fs, path)) throw new IOException("no HFile format");
    try (HFile.Reader r = HFile.createReader(fs, path, CacheConfig.DISABLED, true, conf)) {
      byte[] first = r.getFirstRowKey().orElseThrow(() -> new IOException("no first row"));
      byte[] last = r.getLastRowKey().orElseThrow(() -> new IOException("no last row"));
      if (Bytes.compareTo(first, last) > 0) throw new IOException("last row before the first");
      HFileScanner s = r.getScanner(conf, false, false, false);
      Cell before = null;
      for (boolean more = s.seekTo(); more; more = s.next()) {
        Cell c = s.getCell();
        if (before != null) {
          if (CellComparatorImpl.COMPARATOR.compareRows(before, c) > 0) throw new IOException("rows are not sorted");
          if (CellComparatorImpl.COMPARATOR.compareFamilies(before, c) != 0) throw new IOException("two families");
        }
        before = KeyValueUtil.toNewKeyCell(c);
      }
    }
  }

  static String read(HStoreFile file, StoreFileReader reader, Configuration conf) throws Exception {
    List<KeyValue> cells = new ArrayList<>();
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    HFileScanner s = reader.getHFileReader().getScanner(conf, false, false, false);
    for (boolean more = s.seekTo(); more; more = s.next()) {
      Cell c = s.getCell();
      digest.update((CellLines.line(c) + '\n').getBytes(StandardCharsets.US_ASCII));
      cells.add(KeyValueUtil.copyToNewKeyValue(c));
    }
    if (cells.size() != reader.getEntries()) throw new Misread("entries");
    seeks(reader, s, cells);
    filters(file, reader, cells);
    StringBuilder meta = new StringBuilder();
    meta.append(reader.getEntries()).append(' ').append(file.getMaxMemStoreTS()).append(' ').append(file.isMajorCompactionResult())
        .append(' ').append(file.excludeFromMinorCompaction()).append(' ').append(file.isHistorical()).append(' ')
        .append(file.isBulkLoadResult()).append(' ').append(reader.getBloomFilterType()).append(' ').append(reader.getDeleteFamilyCnt())
        .append(' ').append(file.getMinimumTimestamp()).append(' ').append(file.getMaximumTimestamp()).append(' ')
        .append(file.getFirstKey().map(k -> hex(k))).append(' ').append(file.getLastKey().map(k -> hex(k))).append(' ')
        .append(reader.midKey().map(k -> hex(k))).append(' ').append(reader.getHFileReader().getDataBlockEncoding());
    return "reads\t" + cells.size() + "\t" + LayoutDump.hex(digest.digest()) + "\t" + LayoutDump.hex(sha(meta.toString()));
  }

  static byte[] sha(String s) throws Exception {
    return MessageDigest.getInstance("SHA-256").digest(s.getBytes(StandardCharsets.UTF_8));
  }

  /** Seeks to cells, to rows, between them, and back: at most some thousand of each, spread over the file. */
  static void seeks(StoreFileReader reader, HFileScanner s, List<KeyValue> cells) throws Exception {
    StoreFileScanner scanner = reader.getStoreFileScanner(false, true, false, Long.MAX_VALUE, 0, false);
    int step = 1 + cells.size() / 1500;
    int rowStart = 0, keyStart = 0, rowBefore = -1;
    for (int i = 0; i < cells.size(); i++) {
      KeyValue c = cells.get(i);
      boolean newRow = i == 0 || !CellUtil.matchingRows(c, cells.get(i - 1));
      if (newRow) {
        rowBefore = rowStart;
        rowStart = i;
      }
      if (i == 0 || CellComparatorImpl.COMPARATOR.compare(c, cells.get(i - 1), true) != 0) keyStart = i;
      if (i % step != 0) continue;
      byte[] row = CellUtil.cloneRow(c);
      if (newRow) {
        found(scanner, PrivateCellUtil.createFirstOnRow(row), c, "a row");
        if (s.seekBefore(PrivateCellUtil.createFirstOnRow(row)) != (i > 0)) throw new Misread("seek before a row");
        if (i > 0 && !same(s.getCell(), cells.get(i - 1))) throw new Misread("seek before a row finds another cell");
        byte[] beyond = Arrays.copyOf(row, row.length + 1);
        if (row.length < Short.MAX_VALUE) {
          int next = i;
          while (next < cells.size() && Bytes.compareTo(CellUtil.cloneRow(cells.get(next)), beyond) < 0) next++;
          found(scanner, PrivateCellUtil.createFirstOnRow(beyond), next < cells.size() ? cells.get(next) : null, "behind a row");
        }
      }
      found(scanner, c, cells.get(keyStart), "a cell");
      Cell column = PrivateCellUtil.createFirstOnRowCol(c);
      int first = keyStart;
      while (first > 0 && CellComparatorImpl.COMPARATOR.compare(column, cells.get(first - 1), true) <= 0) first--;
      found(scanner, column, cells.get(first), "a column");
    }
    scanner.close();
  }

  static void found(StoreFileScanner s, Cell key, Cell want, String what) throws Exception {
    boolean any = s.seek(key);
    Cell got = any ? s.peek() : null;
    if (want == null ? got != null : got == null || !same(got, want)) throw new Misread("seek to " + what);
  }

  static boolean same(Cell a, Cell b) throws Exception {
    return CellComparatorImpl.COMPARATOR.compare(a, b, true) == 0 && CellUtil.matchingValue(a, b) && Arrays.equals(PrivateCellUtil.cloneTags(a), PrivateCellUtil.cloneTags(b));
  }

  /** Every row, column and delete-family marker must pass its filter, every cell the time range, and every filter must load. */
  static void filters(HStoreFile file, StoreFileReader reader, List<KeyValue> cells) throws Exception {
    Method passes = StoreFileReader.class.getDeclaredMethod("passesBloomFilter", Scan.class, SortedSet.class);
    passes.setAccessible(true);
    Field deleteFilter = StoreFileReader.class.getDeclaredField("deleteFamilyBloomFilter");
    deleteFilter.setAccessible(true);
    Field range = StoreFileReader.class.getDeclaredField("timeRange");
    range.setAccessible(true);
    HFile.Reader h = reader.getHFileReader();
    boolean general = h.getGeneralBloomFilterMetadata() != null, deletes = h.getDeleteBloomFilterMetadata() != null;
    TimeRange times = (TimeRange) range.get(reader);
    for (int i = 0; i < cells.size(); i++) {
      KeyValue c = cells.get(i);
      byte[] row = CellUtil.cloneRow(c);
      boolean newRow = i == 0 || !CellUtil.matchingRows(c, cells.get(i - 1));
      if (general && row.length > 0 && (newRow || reader.getBloomFilterType() == BloomType.ROWCOL)) {
        Scan get = new Scan().withStartRow(row).withStopRow(row, true);
        SortedSet<byte[]> columns = new TreeSet<>(Bytes.BYTES_COMPARATOR);
        columns.add(CellUtil.cloneQualifier(c));
        if (!(Boolean) passes.invoke(reader, get, columns)) throw new Misread("the general filter hides a row or column");
      }
      byte type = c.getTypeByte();
      if (type == KeyValue.Type.DeleteFamily.getCode() || type == KeyValue.Type.DeleteFamilyVersion.getCode()) {
        if (!reader.passesDeleteFamilyBloomFilter(row, 0, row.length)) throw new Misread("the delete-family filter hides a row");
      }
      if (times != null && (c.getTimestamp() < times.getMin() || c.getTimestamp() > times.getMax())) {
        throw new Misread("the time range hides a cell");
      }
    }
    if (general && reader.getGeneralBloomFilter() == null) throw new IOException("HBase goes on without the general filter");
    if (deletes && deleteFilter.get(reader) == null) throw new IOException("HBase goes on without the delete-family filter");
  }

  static String hex(Cell c) { return LayoutDump.hex(LayoutDump.key(c)); }
}
