// FileLayout reads the bytes of an HFile by hand: trailer, blocks, checksums, indexes. So what it finds is in the file, and
// not what HBase's reader makes of it. Only the protobuf messages and the decompressors are HBase's.

import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.hfile.BlockType;
import org.apache.hadoop.hbase.shaded.protobuf.generated.HFileProtos.FileTrailerProto;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.io.compress.Decompressor;

class FileLayout implements Closeable {
  static final int HEADER_SIZE = 33;
  private static final int TRAILER_SIZE = 4096;
  private static final int SUM_SIZE = 4;

  /** The head of a block. OnDisk counts what follows the head, checksums included; onDiskData the head and what is summed. */
  record Head(int number, long offset, BlockType type, int onDisk, int uncompressed, long previous, int sumType, int bytesPerSum, int onDiskData) {
    int size() { return HEADER_SIZE + onDisk; }
  }

  /** What an index says of a block, or a filter of a chunk. */
  record Entry(long offset, int size, byte[] key) { }

  /** A block with its payload. Sums is "ok", "FAIL", or "none" if it has no checksums. */
  record Block(Head head, String sums, byte[] payload) { }

  /** The fixed part of a filter's metadata, and what follows it. */
  record Filter(int version, long bytes, int hashes, int hashType, long keys, long maxKeys, byte[] comparator, List<Entry> chunks, byte[] rest) { }

  final int major, minor;
  final FileTrailerProto trailer;
  final Compression.Algorithm compression;
  final List<Head> heads = new ArrayList<>();
  private final List<Long> offsets = new ArrayList<>();
  private final RandomAccessFile file;

  FileLayout(String name) throws IOException {
    file = new RandomAccessFile(name, "r");
    try {
      long end = file.length() - TRAILER_SIZE;
      if (end < 0) throw new IOException("the file is shorter than a trailer");
      byte[] last = read(end, TRAILER_SIZE);
      DataInputStream in = new DataInputStream(new ByteArrayInputStream(last));
      BlockType.TRAILER.readAndCheck(in);
      trailer = FileTrailerProto.parseDelimitedFrom(in);
      int version = ByteBuffer.wrap(last).getInt(TRAILER_SIZE - Integer.BYTES);
      major = version & 0xffffff;
      minor = version >>> 24;
      compression = trailer.hasCompressionCodec() ? Compression.Algorithm.values()[trailer.getCompressionCodec()] : Compression.Algorithm.NONE;
      for (long offset = 0; offset < end; offset += heads.get(heads.size() - 1).size()) {
        heads.add(head(heads.size(), offset, end));
        offsets.add(offset);
      }
    } catch (IOException | RuntimeException e) {
      file.close();
      throw e;
    }
  }

  @Override public void close() throws IOException { file.close(); }

  private byte[] read(long offset, int size) throws IOException {
    byte[] b = new byte[size];
    file.seek(offset);
    file.readFully(b);
    return b;
  }

  private Head head(int number, long offset, long end) throws IOException {
    byte[] b = read(offset, HEADER_SIZE);
    ByteBuffer in = ByteBuffer.wrap(b).position(BlockType.MAGIC_LENGTH);
    Head h = new Head(number, offset, BlockType.parse(b, 0, BlockType.MAGIC_LENGTH), in.getInt(), in.getInt(), in.getLong(),
        in.get(), in.getInt(), in.getInt());
    if (h.onDisk < 0 || h.uncompressed < 0 || offset + h.size() > end || h.onDiskData < HEADER_SIZE || h.onDiskData > h.size()) {
      throw new IOException("sizes of the block at " + offset);
    }
    return h;
  }

  /** The number of the block at an offset, -1 if none begins there. */
  int number(long offset) { return Math.max(-1, Collections.binarySearch(offsets, offset)); }

  Block block(Head head) throws IOException {
    byte[] disk = read(head.offset, head.size());
    return new Block(head, sums(head, disk), payload(head, disk));
  }

  private static String sums(Head head, byte[] disk) {
    if (head.sumType == 0) return "none"; // HBase leaves room for them all the same
    Checksum sum = head.sumType == 1 ? new CRC32() : new CRC32C();
    if (head.sumType > 2 || head.bytesPerSum <= 0) return "FAIL";
    ByteBuffer stored = ByteBuffer.wrap(disk, head.onDiskData, disk.length - head.onDiskData);
    for (int at = 0; at < head.onDiskData; at += head.bytesPerSum) {
      sum.reset();
      sum.update(disk, at, Math.min(head.bytesPerSum, head.onDiskData - at));
      if (stored.remaining() < SUM_SIZE || stored.getInt() != (int) sum.getValue()) return "FAIL";
    }
    return stored.hasRemaining() ? "FAIL" : "ok";
  }

  private byte[] payload(Head head, byte[] disk) throws IOException {
    byte[] packed = Arrays.copyOfRange(disk, HEADER_SIZE, head.onDiskData);
    byte[] payload = packed;
    if (compression != Compression.Algorithm.NONE) {
      Decompressor decompressor = compression.getDecompressor();
      try (InputStream in = compression.createDecompressionStream(new ByteArrayInputStream(packed), decompressor, 0)) {
        payload = in.readNBytes(head.uncompressed);
      } finally {
        compression.returnDecompressor(decompressor);
      }
    }
    if (payload.length != head.uncompressed) {
      throw new IOException("the block at " + head.offset + " has " + payload.length + " bytes, its head says " + head.uncompressed);
    }
    return payload;
  }

  /** The block of the data index's root. */
  Head root() throws IOException {
    int number = number(trailer.getLoadOnOpenDataOffset());
    if (number < 0) throw new IOException("no block where the trailer has the root index");
    return heads.get(number);
  }

  /** Reads entries of a root index or of a filter's chunks: place, size, and key with its length before it. */
  static List<Entry> entries(DataInputStream in, int count) throws IOException {
    List<Entry> entries = new ArrayList<>();
    while (entries.size() < count) entries.add(new Entry(in.readLong(), in.readInt(), counted(in)));
    return entries;
  }

  private static byte[] counted(DataInputStream in) throws IOException { return in.readNBytes(WritableUtils.readVInt(in)); }

  /** Entries of a leaf or intermediate index: a table of where they begin stands before them. */
  static List<Entry> tabled(byte[] payload) {
    ByteBuffer in = ByteBuffer.wrap(payload);
    int count = in.getInt(), base = Integer.BYTES * (count + 2);
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int from = base + in.getInt(Integer.BYTES * (i + 1)), to = base + in.getInt(Integer.BYTES * (i + 2));
      byte[] key = Arrays.copyOfRange(payload, from + Long.BYTES + Integer.BYTES, to);
      entries.add(new Entry(in.getLong(from), in.getInt(from + Long.BYTES), key));
    }
    return entries;
  }

  /** The entries of data blocks, found from the root down. */
  List<Entry> dataEntries() throws IOException {
    List<Entry> level = entries(new DataInputStream(new ByteArrayInputStream(block(root()).payload)), trailer.getDataIndexCount());
    for (int depth = 1; depth < trailer.getNumDataIndexLevels(); depth++) {
      List<Entry> below = new ArrayList<>();
      for (Entry e : level) {
        int number = number(e.offset);
        if (number < 0 || heads.get(number).size() != e.size) throw new IOException("no index block of " + e.size + " bytes at " + e.offset);
        below.addAll(tabled(block(heads.get(number)).payload));
      }
      level = below;
    }
    return level;
  }

  static Filter filter(byte[] payload) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(payload));
    int version = in.readInt();
    long bytes = in.readLong();
    int hashes = in.readInt(), hashType = in.readInt();
    long keys = in.readLong(), maxKeys = in.readLong();
    int chunks = in.readInt();
    byte[] comparator = counted(in);
    return new Filter(version, bytes, hashes, hashType, keys, maxKeys, comparator, entries(in, chunks), in.readAllBytes());
  }
}
