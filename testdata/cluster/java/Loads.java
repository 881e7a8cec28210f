import java.io.EOFException;
import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.shaded.protobuf.generated.WALProtos.BulkLoadDescriptor;
import org.apache.hadoop.hbase.shaded.protobuf.generated.WALProtos.StoreDescriptor;
import org.apache.hadoop.hbase.util.CommonFSUtils;
import org.apache.hadoop.hbase.wal.WAL;
import org.apache.hadoop.hbase.wal.WALEdit;
import org.apache.hadoop.hbase.wal.WALFactory;

/** The bulk loads of a table in the servers' write-ahead logs, which replication reads: how many files are for peers, and how many are not. */
final class Loads {
  private Loads() {}

  static String of(Configuration conf, TableName table) throws Exception {
    Map<String, Integer> files = new TreeMap<>();
    Path root = CommonFSUtils.getRootDir(conf);
    FileSystem fs = root.getFileSystem(conf);
    for (String dir : new String[] {"WALs", "oldWALs"}) {
      for (RemoteIterator<LocatedFileStatus> all = fs.listFiles(new Path(root, dir), true); all.hasNext();) {
        Path path = all.next().getPath();
        try (AutoCloseable reader = open(fs, path, conf)) {
          Method next = reader.getClass().getMethod("next");
          next.setAccessible(true);
          for (WAL.Entry e; (e = (WAL.Entry) next.invoke(reader)) != null;) {
            for (Cell cell : e.getEdit().getCells()) {
              BulkLoadDescriptor load = WALEdit.getBulkLoadDescriptor(cell);
              if (load != null && e.getKey().getTableName().equals(table)) {
                int n = load.getStoresList().stream().mapToInt(StoreDescriptor::getStoreFileCount).sum();
                files.merge(load.getReplicate() ? "replicated" : "local", n, Integer::sum);
              }
            }
          }
        } catch (EOFException | ReflectiveOperationException e) {
          if (!(e instanceof EOFException) && !(e.getCause() instanceof EOFException)) {
            throw e;
          } // The log is still written.
        }
      }
    }
    return files.toString();
  }

  /** HBase 2.6 has another reader than 2.4 and 2.5. */
  private static AutoCloseable open(FileSystem fs, Path path, Configuration conf) throws ReflectiveOperationException, IOException {
    Method open = Arrays.stream(WALFactory.class.getMethods())
        .filter(m -> m.getName().matches("createStreamReader|createReader") && Arrays.equals(m.getParameterTypes(), new Class<?>[] {FileSystem.class, Path.class, Configuration.class}))
        .findFirst().orElseThrow(NoSuchMethodException::new);
    return (AutoCloseable) open.invoke(null, fs, path, conf);
  }
}
