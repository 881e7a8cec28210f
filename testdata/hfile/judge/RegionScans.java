// RegionScans has HBase's own region write and bulk-load cells that are overwritten, deleted by each kind of marker and expired, into many
// files in a directory of the local disk, take a snapshot of them, and scan them. No server runs.
//
//   RegionScans DIR ROWS     root directory, snapshot and table named t
//
// A line t: versions (0: raw), rows, cells, SHA-256. A line c, of a choice of rows and columns: versions, the first and the last timestamp, and as before.

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparatorImpl;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeepDeletedCells;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionInfoBuilder;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.errorhandling.ForeignExceptionDispatcher;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.RegionScanner;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.hbase.shaded.protobuf.generated.SnapshotProtos.SnapshotDescription;
import org.apache.hadoop.hbase.snapshot.SnapshotDescriptionUtils;
import org.apache.hadoop.hbase.snapshot.SnapshotManifest;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.CommonFSUtils;
import org.apache.hadoop.hbase.util.Pair;
import org.apache.hadoop.hbase.wal.WALFactory;

public final class RegionScans {
  private static final long DAY = 86_400_000L;
  private static final byte[][] FAMILIES = {Bytes.toBytes("f"), Bytes.toBytes("g"), Bytes.toBytes("h")};

  private final Random random = new Random(19);
  private final long now = System.currentTimeMillis();
  private int written;

  public static void main(String[] args) throws Exception {
    new RegionScans().run(new Path("file://" + args[0]), Integer.parseInt(args[1]));
    System.exit(0);
  }

  private void run(Path root, int rows) throws Exception {
    Configuration conf = HBaseConfiguration.create();
    conf.setBoolean("hbase.unsafe.stream.capability.enforce", false);
    conf.setBoolean("hbase.hregion.memstore.mslab.enabled", false);
    conf.set("hbase.wal.provider", "filesystem");
    conf.set("fs.defaultFS", "file:///");
    CommonFSUtils.setRootDir(conf, root);
    CommonFSUtils.setWALRootDir(conf, root);
    FileSystem fs = root.getFileSystem(conf);
    TableDescriptorBuilder t = TableDescriptorBuilder.newBuilder(TableName.valueOf("t"));
    t.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(FAMILIES[0]).setMaxVersions(3)
        .setDataBlockEncoding(DataBlockEncoding.FAST_DIFF).setCompressionType(Compression.Algorithm.GZ).setBlocksize(4096).build());
    t.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(FAMILIES[1]).setMaxVersions(1).setTimeToLive(86_400)
        .setDataBlockEncoding(DataBlockEncoding.DIFF).build());
    t.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(FAMILIES[2]).setMaxVersions(5).setMinVersions(2).setTimeToLive(86_400)
        .setDataBlockEncoding(DataBlockEncoding.PREFIX).setKeepDeletedCells(KeepDeletedCells.TRUE).build());
    TableDescriptor table = t.build();
    RegionInfo info = RegionInfoBuilder.newBuilder(table.getTableName()).build();
    HRegion region = HRegion.createHRegion(info, root, conf, table, new WALFactory(conf, "regionscans").getWAL(info));
    for (int round = 0; round < 6; round++) {
      write(region, rows);
      region.flush(true);
      if (round == 2) {
        region.compact(false);
      } else if (round % 2 == 1) {
        load(region, conf, new Path(root, "loaded"), FAMILIES[round % FAMILIES.length], rows);
      }
    }
    SnapshotDescription snapshot = SnapshotDescription.newBuilder().setName("t").setTable("t").setCreationTime(now)
        .setType(SnapshotDescription.Type.FLUSH).setVersion(2).build();
    Path dir = SnapshotDescriptionUtils.getCompletedSnapshotDir(snapshot, root);
    fs.mkdirs(dir);
    SnapshotDescriptionUtils.writeSnapshotInfo(snapshot, dir, fs);
    SnapshotManifest manifest = SnapshotManifest.create(conf, fs, dir, snapshot, new ForeignExceptionDispatcher("t"));
    manifest.addTableDescriptor(table);
    manifest.addRegion(region);
    manifest.consolidate();
    for (int versions : new int[] {1, 2, Integer.MAX_VALUE, 0}) {
      print("t " + versions, region, versions == 0 ? new Scan().setRaw(true).readAllVersions() : new Scan().readVersions(versions));
    }
    long hour = now - 3_600_000L;
    for (int versions : new int[] {1, 2, Integer.MAX_VALUE}) {
      for (long[] times : new long[][] {{0, hour + 2}, {hour + 1, Long.MAX_VALUE}, {now - 2 * DAY + 1, hour + 3}, {0, now - 2 * DAY + 3}}) {
        Scan first = chosen(versions, times).withStartRow(Bytes.toBytes("row00050")).withStopRow(Bytes.toBytes("row00120"));
        Scan second = chosen(versions, times).withStartRow(Bytes.toBytes("row00200"));
        print("c " + versions + " " + times[0] + " " + times[1], region, first, second);
      }
    }
  }

  // All columns of the last family, and some of each other. HBase shows of a family with MIN_VERSIONS one expired cell more where its columns are named
  // (ExplicitColumnTracker.checkVersions, 2.6.4) than where they are not (ScanWildcardColumnTracker).
  private static Scan chosen(int versions, long[] times) throws Exception {
    return new Scan().readVersions(versions).setTimeRange(times[0], times[1]).addFamily(FAMILIES[2])
        .addColumn(FAMILIES[0], Bytes.toBytes("q2")).addColumn(FAMILIES[0], new byte[0]).addColumn(FAMILIES[1], Bytes.toBytes("q1"));
  }

  // Few timestamps, so that markers and cells meet; a third of them are older than the families' lifetime.
  private long stamp() {
    return now - (random.nextInt(3) == 0 ? 2 * DAY : 3_600_000L) + random.nextInt(4);
  }

  private byte[] qualifier() {
    int i = random.nextInt(5);
    return i == 0 ? new byte[0] : Bytes.toBytes("q" + i);
  }

  private void write(HRegion region, int rows) throws Exception {
    for (int i = 0; i < rows; i++) {
      byte[] row = Bytes.toBytes(String.format("row%05d", i));
      for (int n = random.nextInt(4); n > 0; n--) {
        byte[] family = FAMILIES[random.nextInt(FAMILIES.length)];
        Delete d = new Delete(row);
        switch (random.nextInt(14)) {
          case 0: region.delete(d.addColumn(family, qualifier(), stamp())); break;
          case 1: region.delete(d.addColumns(family, qualifier(), stamp())); break;
          case 2: region.delete(d.addFamily(family, stamp())); break;
          case 3: region.delete(d.addFamilyVersion(family, stamp())); break;
          default: region.put(put(row, family));
        }
      }
    }
  }

  // Loads a file of values and markers, all of which get the file's sequence id.
  private void load(HRegion region, Configuration conf, Path dir, byte[] family, int rows) throws Exception {
    TreeSet<Cell> cells = new TreeSet<>(CellComparatorImpl.COMPARATOR);
    for (int i = 0; i < rows; i += 1 + random.nextInt(3)) {
      byte[] row = Bytes.toBytes(String.format("row%05d", i));
      for (int n = random.nextInt(3); n >= 0; n--) {
        KeyValue.Type type = new KeyValue.Type[] {KeyValue.Type.Put, KeyValue.Type.Put, KeyValue.Type.Put, KeyValue.Type.Delete,
            KeyValue.Type.DeleteColumn, KeyValue.Type.DeleteFamilyVersion}[random.nextInt(6)];
        byte[] qualifier = type == KeyValue.Type.DeleteFamilyVersion ? new byte[0] : qualifier();
        byte[] value = type == KeyValue.Type.Put ? Bytes.toBytes("loaded " + ++written) : new byte[0];
        cells.add(new KeyValue(row, family, qualifier, stamp(), type, value));
      }
    }
    Path store = new Path(dir, Bytes.toString(family));
    FileSystem fs = dir.getFileSystem(conf);
    fs.mkdirs(store);
    StoreFileWriter out = new StoreFileWriter.Builder(conf, new CacheConfig(conf), fs).withOutputDir(store).withBloomType(BloomType.ROW)
        .withFileContext(new HFileContextBuilder().withColumnFamily(family).withDataBlockEncoding(DataBlockEncoding.FAST_DIFF).build()).build();
    for (Cell c : cells) {
      out.append(c);
    }
    out.appendFileInfo(HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(now));
    out.close();
    region.bulkLoadHFiles(List.of(Pair.newPair(family, out.getPath().toString())), true, null);
  }

  private Put put(byte[] row, byte[] family) {
    Put put = new Put(row);
    for (int n = 1 + random.nextInt(4); n > 0; n--) {
      put.addColumn(family, qualifier(), stamp(), Bytes.toBytes("value " + ++written));
    }
    int ttl = random.nextInt(6);
    if (ttl == 0) {
      put.setTTL(1);
    } else if (ttl == 1) {
      put.setTTL(1000L * DAY + random.nextInt(300));
    }
    return put;
  }

  private static void print(String what, HRegion region, Scan... scans) throws Exception {
    MessageDigest sha = MessageDigest.getInstance("SHA-256");
    long rows = 0, cells = 0;
    for (Scan scan : scans) {
      try (RegionScanner scanner = region.getScanner(scan)) {
        List<Cell> row = new ArrayList<>();
        for (boolean more = true; more; row.clear()) {
          more = scanner.next(row);
          rows += row.isEmpty() ? 0 : 1;
          for (Cell c : row) {
            cells++;
            bytes(sha, c.getRowArray(), c.getRowOffset(), c.getRowLength());
            bytes(sha, c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength());
            bytes(sha, c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength());
            sha.update(ByteBuffer.allocate(9).putLong(c.getTimestamp()).put(c.getType().getCode()).array());
            bytes(sha, c.getValueArray(), c.getValueOffset(), c.getValueLength());
          }
        }
      }
    }
    System.out.printf("%s rows=%d cells=%d sha256=%s%n", what, rows, cells, Bytes.toHex(sha.digest()));
  }

  private static void bytes(MessageDigest sha, byte[] array, int offset, int length) {
    sha.update(ByteBuffer.allocate(4).putInt(length).array());
    sha.update(array, offset, length);
  }
}
