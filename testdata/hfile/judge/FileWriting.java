// FileWriting has HBase write HFiles: by StoreFileWriter with all that HFileOutputFormat2 gives it, where a file must have a
// name and a clock of the test's.

import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.hbase.regionserver.StoreUtils;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.EnvironmentEdgeManager;

class FileWriting {
  private static final String TASK = "attempt_200001010000_0001_r_000000_0";
  private static final String TABLE = "t";

  /** The settings of a write, by their flags. */
  private static Map<String, String> settings(List<String> words, Configuration conf) {
    Map<String, String> set = new HashMap<>(Map.of("--compression", "NONE", "--encoding", "NONE", "--bloom", "NONE",
        "--blocksize", String.valueOf(HConstants.DEFAULT_BLOCKSIZE), "--now", String.valueOf(System.currentTimeMillis()),
        "--task", TASK));
    for (int i = 0; i < words.size(); i += 2) {
      String flag = words.get(i), value = words.get(i + 1);
      if (flag.equals("-D")) {
        int equals = value.indexOf('=');
        conf.set(value.substring(0, equals), value.substring(equals + 1));
      } else if (set.replace(flag, value) == null) {
        throw new IllegalArgumentException("write has no flag " + flag);
      }
    }
    return set;
  }

  /** Writes the cells into one file. */
  static void write(String out, List<String> words, InputStream lines) throws Exception {
    Configuration conf = CellLines.configuration();
    Map<String, String> set = settings(words, conf);
    long now = Long.parseLong(set.get("--now"));
    StoreFileWriter[] writer = new StoreFileWriter[1]; // is made for the family of the first cell
    EnvironmentEdgeManager.injectEdge(() -> now); // the clock of all that HBase stamps
    try {
      CellLines.each(lines, cell -> {
        if (writer[0] == null) writer[0] = open(conf, out, set, now, CellUtil.cloneFamily(cell));
        PrivateCellUtil.updateLatestStamp(cell, now);
        writer[0].append(cell);
      });
      if (writer[0] == null) throw new IOException("a file needs cells");
      finish(writer[0], conf, now, set.get("--task"));
    } finally {
      EnvironmentEdgeManager.reset();
    }
  }

  private static StoreFileWriter open(Configuration conf, String out, Map<String, String> set, long now, byte[] family) throws IOException {
    HFileContextBuilder context = new HFileContextBuilder()
        .withCreateTime(now).withTableName(Bytes.toBytes(TABLE)).withColumnFamily(family).withIncludesTags(true)
        .withBlockSize(Integer.parseInt(set.get("--blocksize")))
        .withCompression(Compression.Algorithm.valueOf(set.get("--compression")))
        .withDataBlockEncoding(DataBlockEncoding.valueOf(set.get("--encoding")))
        .withChecksumType(StoreUtils.getChecksumType(conf)).withBytesPerCheckSum(StoreUtils.getBytesPerChecksum(conf));
    return new StoreFileWriter.Builder(conf, CacheConfig.DISABLED, FileSystem.get(conf)).withFilePath(CellLines.path(out))
        .withFileContext(context.build()).withBloomType(BloomType.valueOf(set.get("--bloom"))).build();
  }

  /** The file info that HFileOutputFormat2 adds when it closes a file. */
  private static void finish(StoreFileWriter writer, Configuration conf, long now, String task) throws IOException {
    boolean exclude = conf.getBoolean("hbase.mapreduce.hfileoutputformat.compaction.exclude", false);
    writer.appendFileInfo(HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(now));
    writer.appendFileInfo(HStoreFile.BULKLOAD_TASK_KEY, Bytes.toBytes(task));
    writer.appendFileInfo(HStoreFile.MAJOR_COMPACTION_KEY, Bytes.toBytes(true));
    writer.appendFileInfo(HStoreFile.EXCLUDE_FROM_MINOR_COMPACTION_KEY, Bytes.toBytes(exclude));
    writer.appendTrackedTimestampsToMetadata();
    writer.close();
  }
}
