// CellLines is the text form of cells, fields separated by tabs:
//
//   base64(row) base64(family) base64(qualifier) timestamp type base64(value) [base64(tags)]
//
// The timestamp of a line that is read may be LATEST; the type is the name of a KeyValue.Type. A cell without tags has no
// last field.

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.fs.HFileSystem;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;

class CellLines {
  interface Sink {
    void take(KeyValue cell) throws Exception;
  }

  /** HBase's configuration for files on local disk, without Hadoop's .crc files beside them. */
  static Configuration configuration() {
    Configuration conf = HBaseConfiguration.create();
    conf.set("fs.defaultFS", "file:///");
    conf.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
    conf.setBoolean("hbase.bulkload.locality.sensitive.enabled", false); // would ask ZooKeeper
    return conf;
  }

  static Path path(String name) { return new Path(new File(name).getAbsoluteFile().toURI()); }

  /** HBase's reader. Through an HFileSystem it verifies the checksums of blocks itself. */
  static HFile.Reader open(Configuration conf, String file) throws IOException {
    return HFile.createReader(new HFileSystem(conf, true), path(file), CacheConfig.DISABLED, true, conf);
  }

  /** Gives the cells of the lines one after the other. */
  static void each(InputStream lines, Sink sink) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(lines, StandardCharsets.US_ASCII), 1 << 20);
    for (String line; (line = in.readLine()) != null;) sink.take(parse(line));
  }

  static KeyValue parse(String line) throws IOException {
    String[] fields = line.split("\t", -1);
    if (fields.length != 6 && fields.length != 7) throw new IOException(fields.length + " fields in the cell " + line);
    byte[] tags = fields.length == 7 ? bytes(fields[6]) : new byte[0];
    long timestamp = fields[3].equals("LATEST") ? HConstants.LATEST_TIMESTAMP : Long.parseLong(fields[3]);
    return new KeyValue(bytes(fields[0]), bytes(fields[1]), bytes(fields[2]), timestamp, KeyValue.Type.valueOf(fields[4]),
        bytes(fields[5]), tags);
  }

  private static byte[] bytes(String field) { return Base64.getDecoder().decode(field); }

  /** The line of a cell, without the end of the line. */
  static String line(Cell cell) {
    Base64.Encoder base64 = Base64.getEncoder();
    StringBuilder line = new StringBuilder();
    for (byte[] part : new byte[][] { CellUtil.cloneRow(cell), CellUtil.cloneFamily(cell), CellUtil.cloneQualifier(cell) }) {
      line.append(base64.encodeToString(part)).append('\t');
    }
    line.append(cell.getTimestamp()).append('\t').append(KeyValue.Type.codeToType(cell.getTypeByte())).append('\t')
        .append(base64.encodeToString(CellUtil.cloneValue(cell)));
    byte[] tags = PrivateCellUtil.cloneTags(cell);
    if (tags.length > 0) line.append('\t').append(base64.encodeToString(tags));
    return line.toString();
  }

  /** Prints the cells of a file. */
  static void print(String file, PrintStream out) throws Exception {
    Configuration conf = configuration();
    try (HFile.Reader reader = open(conf, file)) {
      HFileScanner scanner = reader.getScanner(conf, false, false, false);
      for (boolean more = scanner.seekTo(); more; more = scanner.next()) {
        out.print(line(scanner.getCell()));
        out.print('\n');
      }
    }
  }
}
