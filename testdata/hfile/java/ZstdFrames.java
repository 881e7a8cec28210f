// ZstdFrames is a codec of plain Zstandard frames, made and read by libzstd: what Hadoop's ZStandardCodec,
// HBase's default for ZSTD, does by a native library of its own that no repository has.

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionInputStream;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;

public class ZstdFrames implements Configurable, CompressionCodec {
  // Only its pooled objects are used, and they do nothing here.
  private final ZstdCodec module = new ZstdCodec();

  @Override public void setConf(Configuration conf) { module.setConf(conf); }
  @Override public Configuration getConf() { return module.getConf(); }
  @Override public Class<? extends Compressor> getCompressorType() { return module.getCompressorType(); }
  @Override public Compressor createCompressor() { return module.createCompressor(); }
  @Override public Class<? extends Decompressor> getDecompressorType() { return module.getDecompressorType(); }
  @Override public Decompressor createDecompressor() { return module.createDecompressor(); }
  @Override public String getDefaultExtension() { return ".zst"; }

  @Override public CompressionOutputStream createOutputStream(OutputStream out) { return new Out(out); }
  @Override public CompressionOutputStream createOutputStream(OutputStream out, Compressor c) { return new Out(out); }
  @Override public CompressionInputStream createInputStream(InputStream in) throws IOException { return new In(in); }
  @Override public CompressionInputStream createInputStream(InputStream in, Decompressor d) throws IOException {
    return new In(in);
  }

  /** One frame between two resets. */
  static class Out extends CompressionOutputStream {
    private OutputStream frame;

    Out(OutputStream out) { super(out); }

    private OutputStream frame() throws IOException {
      if (frame == null) {
        frame = new ZstdOutputStreamNoFinalizer(new FilterOutputStream(out) {
          @Override public void write(byte[] b, int off, int len) throws IOException { out.write(b, off, len); }
          @Override public void close() throws IOException { flush(); }
        });
      }
      return frame;
    }

    @Override public void write(int b) throws IOException { frame().write(b); }
    @Override public void write(byte[] b, int off, int len) throws IOException { frame().write(b, off, len); }
    @Override public void flush() { }
    @Override public void resetState() { frame = null; }
    @Override public void finish() throws IOException {
      frame().close();
      frame = null;
    }
  }

  static class In extends CompressionInputStream {
    private final InputStream frames;

    In(InputStream in) throws IOException {
      super(in);
      frames = new ZstdInputStreamNoFinalizer(in);
    }

    @Override public int read() throws IOException { return frames.read(); }
    @Override public int read(byte[] b, int off, int len) throws IOException { return frames.read(b, off, len); }
    @Override public void resetState() { }
  }
}
