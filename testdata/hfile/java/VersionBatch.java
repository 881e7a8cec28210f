// VersionBatch writes and reads HFiles with whatever HBase version is on the class path: 1.4, 2.4, 2.5 and
// 3.0 were tried. What differs between them is called by name.
//
// A line on standard input is one command, fields separated by a tab: a file for the command's standard
// input ("-" for none), a file for its output, then
//
//   write OUT COMPRESSION ENCODING BLOOM BLOCKSIZE   cells on standard input, in the lines of CellLines
//   read FILE                                        the cells, then "#" and what was found
//
// "read" opens the file, reads the file info, scans with checksums verified, seeks every tenth key and the
// last, asks the Bloom filter for every row or column, and reads the mid key. The answer to a command is a
// line: "ok" with its status, or "error" with what was thrown.

import java.io.BufferedReader;
import java.io.DataInput;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.fs.HFileSystem;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.util.BloomFilterFactory;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.ChecksumType;

public class VersionBatch {
  public static void main(String[] args) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err);  // a logger may think it is free
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String line;
    while ((line = commands.readLine()) != null) {
      String answer;
      String[] f = line.split("\t", -1);
      try (PrintStream out = new PrintStream(new FileOutputStream(f[1]), false, "US-ASCII")) {
        if (f[2].equals("write")) write(f[0], f);
        else if (f[2].equals("read")) read(f[3], out);
        else throw new IllegalArgumentException("no command " + f[2]);
        answer = "ok 0";
      } catch (InvocationTargetException e) {
        answer = "error " + e.getCause().toString().replace('\n', ' ');
      } catch (Throwable e) {
        answer = "error " + e.toString().replace('\n', ' ') + " at " + Arrays.toString(e.getStackTrace());
      }
      answers.println(answer);
      answers.flush();
    }
  }

  static Configuration conf() {
    Configuration c = HBaseConfiguration.create();
    c.set("fs.defaultFS", "file:///");
    c.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
    c.setFloat("hfile.block.cache.size", 0);  // 1.4 would find the blocks of an earlier file of the same name in it
    return c;
  }

  static Path path(String f) { return new Path(new File(f).getAbsoluteFile().toURI()); }

  /** Calls the public method of that name that takes these arguments; null goes for any object. */
  static Object call(Object on, String name, Object... args) throws Exception {
    Class<?> type = on instanceof Class ? (Class<?>) on : on.getClass();
    for (Class<?> t = type; t != null; t = t.getSuperclass()) {
      List<Class<?>> from = new ArrayList<>();
      from.add(t);
      for (int i = 0; i < from.size(); i++) from.addAll(Arrays.asList(from.get(i).getInterfaces()));
      for (Class<?> c : from) {
        for (Method m : c.getDeclaredMethods()) {
          if (m.getName().equals(name) && fits(m.getParameterTypes(), args)) {
            m.setAccessible(true);
            return m.invoke(on instanceof Class ? null : on, args);
          }
        }
      }
    }
    throw new NoSuchMethodException(type + "." + name + Arrays.toString(args));
  }

  static boolean fits(Class<?>[] types, Object[] args) {
    if (types.length != args.length) return false;
    for (int i = 0; i < types.length; i++) {
      Class<?> t = types[i] == boolean.class ? Boolean.class : types[i] == int.class ? Integer.class : types[i];
      if (args[i] == null ? types[i].isPrimitive() : !t.isInstance(args[i])) return false;
    }
    return true;
  }

  static boolean has(Class<?> type, String name) {
    return Arrays.stream(type.getMethods()).anyMatch(m -> m.getName().equals(name));
  }

  // ------------------------------------------------------------------------------------ write

  static void write(String in, String[] f) throws Exception {
    Configuration conf = conf();
    HFileContext context = new HFileContextBuilder().withCompression(Compression.Algorithm.valueOf(f[4]))
        .withDataBlockEncoding(DataBlockEncoding.valueOf(f[5])).withBlockSize(Integer.parseInt(f[7]))
        .withChecksumType(ChecksumType.CRC32C).withBytesPerCheckSum(16384).withIncludesTags(true)
        .withIncludesMvcc(true).build();
    String pkg = "org.apache.hadoop.hbase.regionserver.";
    Class<?> type;
    try {
      type = Class.forName(pkg + "StoreFileWriter$Builder");
    } catch (ClassNotFoundException e) {
      type = Class.forName(pkg + "StoreFile$WriterBuilder");
    }
    Object builder = null;
    for (Constructor<?> c : type.getConstructors()) {
      Object[] args = { conf, cache(conf), FileSystem.get(conf) };
      if (fits(c.getParameterTypes(), args)) builder = c.newInstance(args);
    }
    call(builder, "withFilePath", path(f[3]));
    call(builder, "withBloomType", BloomType.valueOf(f[6]));
    call(builder, "withFileContext", context);
    Object w = call(builder, "build");
    try (BufferedReader r = new BufferedReader(new InputStreamReader(new FileInputStream(in), StandardCharsets.US_ASCII))) {
      String line;
      while ((line = r.readLine()) != null) call(w, "append", parse(line));
    }
    call(w, "appendFileInfo", Bytes.toBytes("BULKLOAD_TIMESTAMP"), Bytes.toBytes(1700000000000L));
    call(w, "appendFileInfo", Bytes.toBytes("MAJOR_COMPACTION_KEY"), Bytes.toBytes(true));
    call(w, "appendTrackedTimestampsToMetadata");
    call(w, "close");
  }

  static KeyValue parse(String line) {
    String[] f = line.split("\t", -1);
    Base64.Decoder d = Base64.getDecoder();
    byte[] row = d.decode(f[0]), fam = d.decode(f[1]), qual = d.decode(f[2]), value = d.decode(f[5]);
    long ts = Long.parseLong(f[3]);
    KeyValue.Type type = KeyValue.Type.valueOf(f[4]);
    return f.length == 6 ? new KeyValue(row, fam, qual, ts, type, value)
        : new KeyValue(row, fam, qual, ts, type, value, d.decode(f[6]));
  }

  // ------------------------------------------------------------------------------------- read

  static Object cache(Configuration conf) throws Exception {
    for (java.lang.reflect.Field x : CacheConfig.class.getFields()) {
      if (x.getName().equals("DISABLED")) return x.get(null);
    }
    return CacheConfig.class.getConstructor(Configuration.class).newInstance(conf);
  }

  static HFile.Reader open(Configuration conf, String file) throws Exception {
    FileSystem fs = new HFileSystem(conf, true);  // this is what makes HBase verify its own checksums
    try {
      return (HFile.Reader) call(HFile.class, "createReader", fs, path(file), cache(conf), true, conf);
    } catch (NoSuchMethodException e) {
      return (HFile.Reader) call(HFile.class, "createReader", fs, path(file), cache(conf), conf);
    }
  }

  static HFileScanner scanner(HFile.Reader r, Configuration conf) throws Exception {
    try {
      return (HFileScanner) call(r, "getScanner", conf, false, false);
    } catch (NoSuchMethodException e) {
      return (HFileScanner) call(r, "getScanner", false, false);
    }
  }

  static Cell cell(HFileScanner s) throws Exception {
    return (Cell) call(s, has(HFileScanner.class, "getCell") ? "getCell" : "getKeyValue");
  }

  static String text(Cell c) throws Exception {
    Base64.Encoder e = Base64.getEncoder();
    byte type = (Byte) call(c, "getTypeByte");
    String s = e.encodeToString(CellUtil.cloneRow(c)) + '\t' + e.encodeToString(CellUtil.cloneFamily(c)) + '\t'
        + e.encodeToString(CellUtil.cloneQualifier(c)) + '\t' + c.getTimestamp() + '\t'
        + KeyValue.Type.codeToType(type) + '\t' + e.encodeToString(CellUtil.cloneValue(c));
    int n = (Integer) call(c, "getTagsLength");
    if (n == 0) return s;
    int at = (Integer) call(c, "getTagsOffset");
    return s + '\t' + e.encodeToString(Arrays.copyOfRange((byte[]) call(c, "getTagsArray"), at, at + n));
  }

  static void read(String file, PrintStream out) throws Exception {
    Configuration conf = conf();
    long failures = (Long) call(HFile.class, "getChecksumFailuresCount");
    HFile.Reader r = open(conf, file);
    Map<?, ?> info = (Map<?, ?>) call(r, has(HFile.Reader.class, "loadFileInfo") ? "loadFileInfo" : "getHFileInfo");
    byte[] bt = (byte[]) info.get(Bytes.toBytes("BLOOM_FILTER_TYPE"));
    BloomType bloomType = bt == null ? BloomType.NONE : BloomType.valueOf(Bytes.toString(bt));
    DataInput meta = (DataInput) call(r, "getGeneralBloomFilterMetadata");
    Object bloom = meta == null ? null : call(BloomFilterFactory.class, "createFromMeta", meta, r);
    HFileScanner s = scanner(r, conf);
    List<String> sample = new ArrayList<>();
    String last = null;
    long n = 0, missed = 0;
    for (boolean more = s.seekTo(); more; more = s.next()) {
      Cell c = cell(s);
      String line = text(c);
      out.print(line + '\n');
      String key = line.substring(0, line.lastIndexOf('\t'));
      if (n % 10 == 0) sample.add(line);
      last = line;
      if (bloom != null && !maybe(bloom, bloomType, c)) missed++;
      n++;
    }
    if (last != null) sample.add(last);
    long wrong = 0;
    HFileScanner k = scanner(r, conf);
    for (String line : sample) {
      KeyValue kv = parse(line);
      if (!Integer.valueOf(0).equals(call(k, "seekTo", kv))) wrong++;
      else if (!sameKey(text(cell(k)), line)) wrong++;
    }
    Object mid = has(HFile.Reader.class, "midKey") ? call(r, "midKey") : call(r, "midkey");
    long summed = (Long) call(HFile.class, "getChecksumFailuresCount") - failures;
    long entries = (Long) call(r, "getEntries");
    out.print("#cells=" + n + " entries=" + entries + " bloom=" + bloomType + " bloom_read=" + (bloom != null)
        + " false_negatives=" + missed + " wrong_seeks=" + wrong + " mid_key=" + (mid != null)
        + " checksum_failures=" + summed + "\n");
    call(r, "close");
  }

  /** Equal but for value and tags: of equal keys a seek finds the first. */
  static boolean sameKey(String a, String b) {
    return Arrays.equals(Arrays.copyOf(a.split("\t"), 5), Arrays.copyOf(b.split("\t"), 5));
  }

  static boolean maybe(Object bloom, BloomType type, Cell c) throws Exception {
    byte[] row = CellUtil.cloneRow(c), qual = CellUtil.cloneQualifier(c);
    if (type != BloomType.ROWCOL) return (Boolean) call(bloom, "contains", row, 0, row.length, null);
    if (has(bloom.getClass(), "createBloomKey")) {
      byte[] key = (byte[]) call(bloom, "createBloomKey", row, 0, row.length, qual, 0, qual.length);
      return (Boolean) call(bloom, "contains", key, 0, key.length, null);
    }
    Class<?> util = Class.forName("org.apache.hadoop.hbase.PrivateCellUtil");
    return (Boolean) call(bloom, "contains", call(util, "createFirstOnRowCol", c), null, BloomType.ROWCOL);
  }
}
