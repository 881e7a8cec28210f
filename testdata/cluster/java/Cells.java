// Cells makes a table whose cells are overwritten, deleted by each kind of marker and expired, in many files,
// with a split, a clone and snapshots of both, and prints what a Scan of them gives: the judge of our reader
// of snapshots.
//
//   Cells make TABLE CLONE ROWS    both tables and snapshots named as they are, in the namespace default
//   Cells drop TABLE CLONE         both are compacted first
//
// A line of make: snapshot, versions (0: raw), rows, cells, SHA-256.

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparatorImpl;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeepDeletedCells;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;
import org.apache.hadoop.hbase.util.Bytes;

public final class Cells {
  private static final long DAY = 86_400_000L;
  private static final byte[][] FAMILIES = {Bytes.toBytes("f"), Bytes.toBytes("g"), Bytes.toBytes("h")};

  private final Configuration conf = HBaseConfiguration.create();
  private final Random random = new Random(19);
  private final long now = System.currentTimeMillis();
  private int written;

  public static void main(String[] args) throws Exception {
    Cells c = new Cells();
    try (Connection connection = ConnectionFactory.createConnection(c.conf); Admin admin = connection.getAdmin()) {
      TableName table = TableName.valueOf(args[1]);
      TableName clone = TableName.valueOf(args[2]);
      if (args[0].equals("make")) {
        c.make(connection, admin, table, clone, Integer.parseInt(args[3]));
      } else {
        drop(admin, table);
        drop(admin, clone);
      }
    }
  }

  private void make(Connection connection, Admin admin, TableName name, TableName clone, int rows) throws Exception {
    TableDescriptorBuilder t = TableDescriptorBuilder.newBuilder(name).setCompactionEnabled(false);
    t.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(FAMILIES[0]).setMaxVersions(3)
        .setDataBlockEncoding(DataBlockEncoding.FAST_DIFF).setCompressionType(Compression.Algorithm.GZ).setBlocksize(4096).build());
    t.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(FAMILIES[1]).setMaxVersions(1).setTimeToLive(86_400)
        .setDataBlockEncoding(DataBlockEncoding.DIFF).build());
    t.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(FAMILIES[2]).setMaxVersions(5).setMinVersions(2).setTimeToLive(86_400)
        .setKeepDeletedCells(KeepDeletedCells.TRUE).build());
    admin.createTable(t.build());
    try (Table table = connection.getTable(name)) {
      for (int round = 0; round < 6; round++) {
        write(table, rows);
        if (round == 2) {
          load(table, rows);
        }
        if (round == 3) {
          split(admin, name, row(rows / 2));
        }
        if (round < 5) { // The last round lies in memory until the snapshot is taken.
          admin.flush(name);
        }
      }
      admin.snapshot(name.getNameAsString(), name);
      print(connection, name);
    }
    admin.cloneSnapshot(name.getNameAsString(), clone);
    try (Table table = connection.getTable(clone)) {
      split(admin, clone, row(rows / 4));
      write(table, rows);
    }
    admin.snapshot(clone.getNameAsString(), clone);
    print(connection, clone);
  }

  private static byte[] row(int i) {
    return Bytes.toBytes(String.format("row%05d", i));
  }

  // Few timestamps, so that markers and cells meet; a third of them are older than the families' lifetime.
  private long stamp() {
    return now - (random.nextInt(3) == 0 ? 2 * DAY : 3_600_000L) + random.nextInt(4);
  }

  private byte[] qualifier() {
    int i = random.nextInt(5);
    return i == 0 ? new byte[0] : Bytes.toBytes("q" + i);
  }

  private void write(Table table, int rows) throws Exception {
    for (int i = 0; i < rows; i++) {
      if (random.nextInt(4) == 0) {
        continue;
      }
      for (int n = 1 + random.nextInt(3); n > 0; n--) {
        table.batch(List.of(mutation(row(i), FAMILIES[random.nextInt(FAMILIES.length)])), new Object[1]);
      }
    }
  }

  private Mutation mutation(byte[] row, byte[] family) {
    Delete d = new Delete(row);
    switch (random.nextInt(14)) {
      case 0: return d.addColumn(family, qualifier(), stamp());
      case 1: return d.addColumns(family, qualifier(), stamp());
      case 2: return d.addFamily(family, stamp());
      case 3: return d.addFamilyVersion(family, stamp());
      default:
    }
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

  // Bulk-loads a file whose cells are equal in all but the value to some that are there.
  private void load(Table table, int rows) throws Exception {
    FileSystem fs = FileSystem.get(conf);
    Path dir = new Path("/tmp/cells-" + table.getName().getQualifierAsString());
    FsPermission open = new FsPermission((short) 0777);
    fs.mkdirs(new Path(dir, "f"));
    fs.setPermission(dir, open);
    fs.setPermission(new Path(dir, "f"), open);
    TreeSet<KeyValue> cells = new TreeSet<>(CellComparatorImpl.COMPARATOR);
    for (int i = 0; i < rows; i++) {
      cells.add(new KeyValue(row(i), FAMILIES[0], qualifier(), stamp(), Bytes.toBytes("loaded " + i)));
    }
    Path file = new Path(dir, "f/0123456789abcdef");
    HFile.Writer w = HFile.getWriterFactory(conf, new CacheConfig(conf)).withPath(fs, file)
        .withFileContext(new HFileContextBuilder().withIncludesTags(true).build()).create();
    for (KeyValue c : cells) {
      w.append(c);
    }
    w.appendFileInfo(HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(now));
    w.close();
    fs.setPermission(file, open);
    BulkLoadHFiles.create(conf).bulkLoad(table.getName(), dir);
    fs.delete(dir, true);
  }

  private static void split(Admin admin, TableName table, byte[] at) throws Exception {
    int regions = admin.getRegions(table).size();
    byte[] region = null;
    for (org.apache.hadoop.hbase.client.RegionInfo r : admin.getRegions(table)) {
      if (r.containsRow(at)) {
        region = r.getRegionName();
      }
    }
    admin.splitRegionAsync(region, at).get();
    while (admin.getRegions(table).size() == regions || !admin.isTableAvailable(table)) {
      Thread.sleep(50);
    }
  }

  private static void print(Connection connection, TableName name) throws Exception {
    for (int versions : new int[] {1, 2, Integer.MAX_VALUE, 0}) {
      Scan scan = new Scan().setCaching(500).setCacheBlocks(false);
      if (versions == 0) {
        scan.setRaw(true).readAllVersions();
      } else {
        scan.readVersions(versions);
      }
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      long rows = 0, cells = 0;
      try (Table t = connection.getTable(name); ResultScanner scanner = t.getScanner(scan)) {
        for (Result r : scanner) {
          rows++;
          for (Cell c : r.rawCells()) {
            cells++;
            bytes(sha, c.getRowArray(), c.getRowOffset(), c.getRowLength());
            bytes(sha, c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength());
            bytes(sha, c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength());
            sha.update(ByteBuffer.allocate(9).putLong(c.getTimestamp()).put(c.getType().getCode()).array());
            bytes(sha, c.getValueArray(), c.getValueOffset(), c.getValueLength());
          }
        }
      }
      System.out.printf("%s %d rows=%d cells=%d sha256=%s%n", name, versions, rows, cells, Bytes.toHex(sha.digest()));
    }
  }

  private static void bytes(MessageDigest sha, byte[] array, int offset, int length) {
    sha.update(ByteBuffer.allocate(4).putInt(length).array());
    sha.update(array, offset, length);
  }

  private static void drop(Admin admin, TableName table) throws Exception {
    admin.modifyTable(TableDescriptorBuilder.newBuilder(admin.getDescriptor(table)).setCompactionEnabled(true).build());
    admin.majorCompact(table);
    for (int i = 0; i < 400 && admin.getCompactionState(table) != CompactionState.NONE; i++) {
      Thread.sleep(50);
    }
    admin.disableTable(table);
    admin.deleteTable(table);
  }
}
