// LayoutDump prints what is in an HFile as lines of fields separated by tabs: blocks with the digests of their payloads, the
// trailer, the file info, the root index and the mid key.

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.io.hfile.BlockType;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.shaded.protobuf.generated.HBaseProtos.BytesBytesPair;
import org.apache.hadoop.hbase.shaded.protobuf.generated.HFileProtos.FileInfoProto;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hbase.thirdparty.com.google.protobuf.Descriptors.FieldDescriptor;

class LayoutDump {
  private static final byte[] PROTOBUF_MAGIC = "PBUF".getBytes(StandardCharsets.US_ASCII);

  private final FileLayout file;
  private final PrintStream out;

  private LayoutDump(FileLayout file, PrintStream out) {
    this.file = file;
    this.out = out;
  }

  static void print(String name, PrintStream out) throws Exception {
    try (FileLayout file = new FileLayout(name)) {
      LayoutDump dump = new LayoutDump(file, out);
      dump.blocks();
      dump.trailer();
      dump.fileInfo();
      dump.rootIndex();
    }
    Configuration conf = CellLines.configuration();
    try (HFile.Reader reader = CellLines.open(conf, name)) {
      reader.midKey().ifPresent(key -> line(out, "MIDKEY", hex(key(key))));
    }
  }

  private static void line(PrintStream out, Object... fields) {
    for (int i = 0; i < fields.length; i++) out.print((i > 0 ? "\t" : "") + fields[i]);
    out.print('\n');
  }

  static String hex(byte[] b) { return HexFormat.of().formatHex(b); }

  static byte[] key(Cell cell) { return PrivateCellUtil.getCellKeySerializedAsKeyValueKey(cell); }

  private static String digest(byte[] b) throws Exception { return hex(MessageDigest.getInstance("SHA-256").digest(b)); }

  private void blocks() throws Exception {
    line(out, "#BLOCK", "ordinal", "offset", "type", "on_disk_size_without_header", "uncompressed_size_without_header",
        "prev_block_offset", "checksum", "checksum_type", "bytes_per_checksum", "sha256_of_payload", "sha256_of_normalised_payload");
    for (FileLayout.Head h : file.heads) {
      FileLayout.Block b = file.block(h);
      line(out, "BLOCK", h.number(), h.offset(), h.type(), h.onDisk(), h.uncompressed(), h.previous(), b.sums(), h.sumType(),
          h.bytesPerSum(), digest(b.payload()), digest(placeless(b)));
    }
  }

  private void trailer() {
    line(out, "TRAILER", "major", file.major);
    line(out, "TRAILER", "minor", file.minor);
    for (Map.Entry<FieldDescriptor, Object> field : file.trailer.getAllFields().entrySet()) {
      line(out, "TRAILER", field.getKey().getName(), field.getValue());
    }
  }

  private void fileInfo() throws IOException {
    int number = file.number(file.trailer.getFileInfoOffset());
    if (number < 0) throw new IOException("no block where the trailer has the file info");
    for (BytesBytesPair e : info(file.block(file.heads.get(number)).payload())) {
      line(out, "FILEINFO", e.getFirst().toString(StandardCharsets.ISO_8859_1), hex(e.getSecond().toByteArray()));
    }
  }

  private static List<BytesBytesPair> info(byte[] payload) throws IOException {
    ByteArrayInputStream in = new ByteArrayInputStream(payload);
    if (!Arrays.equals(in.readNBytes(PROTOBUF_MAGIC.length), PROTOBUF_MAGIC)) throw new IOException("the file info is not a message");
    return FileInfoProto.parseDelimitedFrom(in).getMapEntryList();
  }

  private void rootIndex() throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(file.block(file.root()).payload()));
    int n = 0;
    for (FileLayout.Entry e : FileLayout.entries(in, file.trailer.getDataIndexCount())) {
      line(out, "ROOT", n++, e.offset(), e.size(), "block=" + file.number(e.offset()), hex(e.key()));
    }
    if (in.available() >= 16) {
      long leaf = in.readLong();
      line(out, "MIDKEYMETA", "leaf_offset=" + leaf, "leaf_on_disk_size=" + in.readInt(), "entry=" + in.readInt(), "block=" + file.number(leaf));
    }
    if (in.available() > 0) line(out, "ROOTEXTRA", hex(in.readAllBytes()));
  }

  /** A payload in which blocks are numbers instead of places and clocks are empty, so that it does not depend on compression. */
  private byte[] placeless(FileLayout.Block b) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream to = new DataOutputStream(bytes);
    BlockType type = b.head().type();
    if (type == BlockType.LEAF_INDEX || type == BlockType.INTERMEDIATE_INDEX) {
      entries(to, FileLayout.tabled(b.payload()));
    } else if (type == BlockType.ROOT_INDEX) {
      root(to, b);
    } else if (type == BlockType.GENERAL_BLOOM_META || type == BlockType.DELETE_FAMILY_BLOOM_META) {
      FileLayout.Filter f = FileLayout.filter(b.payload());
      to.write(b.payload(), 0, 36); // all before the number of chunks
      to.writeInt(f.chunks().size());
      counted(to, f.comparator());
      entries(to, f.chunks());
      to.write(f.rest());
    } else if (type == BlockType.FILE_INFO) {
      for (BytesBytesPair e : info(b.payload())) {
        String key = e.getFirst().toString(StandardCharsets.ISO_8859_1);
        boolean clock = key.equals("hfile.CREATE_TIME_TS") || key.startsWith("BULKLOAD_");
        counted(to, e.getFirst().toByteArray());
        counted(to, clock ? new byte[0] : e.getSecond().toByteArray());
      }
    } else {
      return b.payload();
    }
    return bytes.toByteArray();
  }

  private void root(DataOutputStream to, FileLayout.Block b) throws IOException {
    boolean data = b.head().offset() == file.trailer.getLoadOnOpenDataOffset();
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(b.payload()));
    entries(to, FileLayout.entries(in, data ? file.trailer.getDataIndexCount() : file.trailer.getMetaIndexCount()));
    if (in.available() >= 16) { // where the mid key is
      to.writeLong(file.number(in.readLong()));
      in.readInt();
      to.writeInt(0);
      to.writeInt(in.readInt());
    }
    to.write(in.readAllBytes());
  }

  private void entries(DataOutputStream to, List<FileLayout.Entry> entries) throws IOException {
    for (FileLayout.Entry e : entries) {
      to.writeLong(file.number(e.offset()));
      to.writeInt(0);
      counted(to, e.key());
    }
  }

  private static void counted(DataOutputStream to, byte[] b) throws IOException {
    WritableUtils.writeVInt(to, b.length);
    to.write(b);
  }
}
