// Prints what Hadoop's erasure coders make of known data, one unit of parity a line: codec, number of units of data and of parity, index,
// bytes in hexadecimal. Byte j of unit i of the data is 89*i + 31*j + i*j*j.

import java.util.HexFormat;
import org.apache.hadoop.io.erasurecode.ErasureCoderOptions;
import org.apache.hadoop.io.erasurecode.rawcoder.RSRawEncoder;
import org.apache.hadoop.io.erasurecode.rawcoder.RawErasureEncoder;
import org.apache.hadoop.io.erasurecode.rawcoder.XORRawEncoder;

public final class CoderVectors {
  private static final int LENGTH = 48;

  public static void main(String[] args) throws Exception {
    for (int[] units : new int[][] {{2, 1}, {3, 2}, {6, 3}, {10, 4}, {12, 4}}) {
      print("rs", units[0], units[1], new RSRawEncoder(new ErasureCoderOptions(units[0], units[1])));
    }
    print("xor", 2, 1, new XORRawEncoder(new ErasureCoderOptions(2, 1)));
    print("xor", 5, 1, new XORRawEncoder(new ErasureCoderOptions(5, 1)));
  }

  private static void print(String codec, int data, int parity, RawErasureEncoder encoder) throws Exception {
    byte[][] in = new byte[data][LENGTH];
    byte[][] out = new byte[parity][LENGTH];
    for (int i = 0; i < data; i++) {
      for (int j = 0; j < LENGTH; j++) {
        in[i][j] = (byte) (89 * i + 31 * j + i * j * j);
      }
    }
    encoder.encode(in, out);
    for (int i = 0; i < parity; i++) {
      System.out.println(codec + " " + data + " " + parity + " " + i + " " + HexFormat.of().formatHex(out[i]));
    }
  }
}
