// Cells makes a table of two families whose cells are overwritten, deleted by each kind of marker and expired, and
// says what a Scan of it gives. The commands are those of Adm that begin with "cells-".

import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.util.Bytes;

final class Cells {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] G = Bytes.toBytes("g");
  private static final long DAY = 86_400_000L;

  private Cells() {}

  // Has the table keep three versions in f, and in a new family g cells for a day; the servers compact nothing of it.
  static String second(Admin admin, TableName name) throws IOException {
    TableDescriptorBuilder t = TableDescriptorBuilder.newBuilder(admin.getDescriptor(name)).setCompactionEnabled(false);
    ColumnFamilyDescriptor f = t.build().getColumnFamily(F);
    t.modifyColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(f).setMaxVersions(3).build());
    t.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(G).setMaxVersions(1).setTimeToLive(86_400).build());
    admin.modifyTable(t.build());
    return "g and versions";
  }

  static String compactions(Admin admin, TableName name, boolean on) throws IOException {
    admin.modifyTable(TableDescriptorBuilder.newBuilder(admin.getDescriptor(name)).setCompactionEnabled(on).build());
    return "compactions " + on;
  }

  // Of each hundred rows 5 are overwritten, 3 deleted by each kind of marker; of each seven one has cells in g, every other of
  // which is expired. After each third of the rows but the last the memstores are flushed.
  static String churn(Connection c, TableName name) throws IOException {
    List<byte[]> keys = new ArrayList<>();
    Scan scan = new Scan().setCaching(5000).setCacheBlocks(false).setFilter(new FirstKeyOnlyFilter());
    long stamp = 0;
    List<byte[]> qualifiers = new ArrayList<>();
    try (Table t = c.getTable(name)) {
      try (ResultScanner rows = t.getScanner(new Scan().setLimit(1))) {
        for (Cell cell : rows.next().rawCells()) {
          qualifiers.add(CellUtil.cloneQualifier(cell));
          stamp = cell.getTimestamp();
        }
      }
      try (ResultScanner rows = t.getScanner(scan)) {
        for (Result r : rows) {
          keys.add(r.getRow());
        }
      }
    }
    byte[] first = qualifiers.get(0);
    byte[] last = qualifiers.get(qualifiers.size() - 1);
    long now = System.currentTimeMillis();
    try (Admin admin = c.getAdmin(); BufferedMutator out = c.getBufferedMutator(name)) {
      for (int third = 0; third < 3; third++) {
        for (int i = third; i < keys.size(); i += 3) {
          byte[] row = keys.get(i);
          int of = i % 100;
          if (of % 20 == 0) { // of these some at the time of the first cells, and some several times
            Put p = new Put(row);
            p.addColumn(F, first, of == 0 ? stamp : now - 5000 + third, Bytes.toBytes("overwritten " + i));
            p.addColumn(F, last, now - 9000, Bytes.toBytes("also " + i));
            if (of == 40) {
              p.addColumn(F, first, now - 4000, Bytes.toBytes("again " + i));
            }
            out.mutate(p);
          } else if (of < 4) {
            out.mutate(new Delete(row).addFamily(F, of == 1 ? stamp : now - 6000));
          } else if (of < 7) {
            out.mutate(new Delete(row).addColumns(F, last).addColumns(F, first, stamp - (of == 6 ? 1 : 0)));
          } else if (of < 10) {
            out.mutate(new Delete(row).addColumn(F, first, stamp - (of == 9 ? 1 : 0)));
          } else if (of < 13) {
            out.mutate(new Delete(row).addFamilyVersion(F, stamp - (of == 12 ? 1 : 0)));
          }
          if (i % 7 == 0) {
            Put p = new Put(row);
            p.addColumn(G, Bytes.toBytes("note"), i % 2 == 0 ? now - 1000 : now - 2 * DAY, Bytes.toBytes("note " + i));
            out.mutate(p);
          }
        }
        out.flush();
        if (third < 2) {
          admin.flush(name);
        }
      }
    }
    return keys.size() + " rows";
  }

  private static Scan view(int versions) {
    Scan scan = new Scan().setCaching(1000).setCacheBlocks(false);
    return versions == 0 ? scan.setRaw(true).readAllVersions() : scan.readVersions(versions);
  }

  // The line that RegionScans prints; 0 versions: raw.
  static String digest(Connection c, TableName name, int versions) throws Exception {
    MessageDigest sha = MessageDigest.getInstance("SHA-256");
    long rows = 0, cells = 0;
    ByteBuffer fixed = ByteBuffer.allocate(9);
    try (Table t = c.getTable(name); ResultScanner scanner = t.getScanner(view(versions))) {
      for (Result r : scanner) {
        rows++;
        for (Cell x : r.rawCells()) {
          cells++;
          bytes(sha, x.getRowArray(), x.getRowOffset(), x.getRowLength());
          bytes(sha, x.getFamilyArray(), x.getFamilyOffset(), x.getFamilyLength());
          bytes(sha, x.getQualifierArray(), x.getQualifierOffset(), x.getQualifierLength());
          sha.update(fixed.clear().putLong(x.getTimestamp()).put(x.getType().getCode()).array());
          bytes(sha, x.getValueArray(), x.getValueOffset(), x.getValueLength());
        }
      }
    }
    return String.format("rows=%d cells=%d sha256=%s", rows, cells, Bytes.toHex(sha.digest()));
  }

  private static void bytes(MessageDigest sha, byte[] array, int offset, int length) {
    sha.update(ByteBuffer.allocate(4).putInt(length).array());
    sha.update(array, offset, length);
  }

  // Reads all and does nothing with it.
  static String drain(Connection c, TableName name) throws IOException {
    long cells = 0;
    long began = System.nanoTime();
    try (Table t = c.getTable(name); ResultScanner scanner = t.getScanner(view(1))) {
      for (Result r : scanner) {
        cells += r.size();
      }
    }
    return String.format("cells=%d ms=%d", cells, (System.nanoTime() - began) / 1_000_000);
  }
}
