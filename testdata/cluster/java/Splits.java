// Prints the split points of HBase's own RegionSplitter, for comparison: each line is an algorithm, a number of regions
// and the points in hexadecimal, separated by blanks.

import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.RegionSplitter;

public final class Splits {
  public static void main(String[] args) throws Exception {
    int most = Integer.parseInt(args[0]);
    StringBuilder out = new StringBuilder();
    for (int n = 2; n <= most; n++) {
      print(out, "hex", n, new RegionSplitter.HexStringSplit());
      print(out, "decimal", n, new RegionSplitter.DecimalStringSplit());
      print(out, "uniform", n, new RegionSplitter.UniformSplit());
    }
    System.out.print(out);
  }

  private static void print(StringBuilder out, String name, int n, RegionSplitter.SplitAlgorithm a) {
    out.append(name).append(' ').append(n);
    for (byte[] point : a.split(n)) {
      out.append(' ').append(Bytes.toHex(point));
    }
    out.append('\n');
  }
}
