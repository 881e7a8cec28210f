import java.io.*; import java.nio.file.*;
import org.apache.hadoop.conf.Configuration; import org.apache.hadoop.io.compress.*;
public class Pack { public static void main(String[] a) throws Exception {
 byte[] text = Files.readAllBytes(Paths.get("text.csv"));
 for (String c : new String[]{"SnappyCodec","Lz4Codec","DefaultCodec","BZip2Codec"}) for (int size : new int[]{4096, 262144}) {
  Configuration conf = new Configuration(false);
  conf.setInt("io.compression.codec.snappy.buffersize", size); conf.setInt("io.compression.codec.lz4.buffersize", size);
  conf.set("io.compression.codec.bzip2.library","java-builtin"); conf.setBoolean("io.native.lib.available", false);
  CompressionCodec k = (CompressionCodec) Class.forName("org.apache.hadoop.io.compress."+c).getDeclaredConstructor().newInstance();
  ((org.apache.hadoop.conf.Configurable) k).setConf(conf);
  OutputStream f = new FileOutputStream("hadoop-"+size+".csv"+k.getDefaultExtension());
  int half = text.length/2;
  for (int part = 0; part < (size == 4096 ? 2 : 1); part++) { // two streams, or one
   CompressionOutputStream o = k.createOutputStream(f);
   int from = size == 4096 && part == 1 ? half : 0, to = size == 4096 && part == 0 ? half : text.length;
   for (int i = from; i < to; i += 1000) o.write(text, i, Math.min(1000, to - i));
   o.finish();
  }
  f.close();
 } } }
