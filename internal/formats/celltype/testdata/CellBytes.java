import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import org.apache.hadoop.hbase.util.Bytes;

/** Reads "type TAB text" lines, and prints the text's bytes by HBase's Bytes in hex. */
public class CellBytes {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line; (line = in.readLine()) != null;) {
      String[] f = line.split("\t", 2);
      out.println(Bytes.toHex(bytes(f[0], f[1])));
    }
    out.flush();
  }

  private static byte[] bytes(String type, String text) {
    switch (type) {
      case "short": return Bytes.toBytes(Short.parseShort(text));
      case "int": return Bytes.toBytes(Integer.parseInt(text));
      case "long": return Bytes.toBytes(Long.parseLong(text));
      case "float": return Bytes.toBytes(Float.parseFloat(text));
      case "double": return Bytes.toBytes(Double.parseDouble(text));
      case "boolean": return Bytes.toBytes(Boolean.parseBoolean(text));
      case "decimal": return Bytes.toBytes(new BigDecimal(text));
      default: throw new IllegalArgumentException(type);
    }
  }
}
