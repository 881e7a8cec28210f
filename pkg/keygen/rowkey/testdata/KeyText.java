// Prints each line of standard input, which is a key in hexadecimal, as Bytes.toStringBinary does; a line that begins
// with a colon is text, of which the bytes that Bytes.toBytesBinary makes are printed in hexadecimal.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.hbase.util.Bytes;

public final class KeyText {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.ISO_8859_1));
    StringBuilder out = new StringBuilder();
    for (String line; (line = in.readLine()) != null; ) {
      try {
        out.append(line.startsWith(":") ? Bytes.toHex(Bytes.toBytesBinary(line.substring(1))) : Bytes.toStringBinary(Bytes.fromHex(line)));
      } catch (StringIndexOutOfBoundsException e) {
        out.append("cut off"); // an escape without its digits
      }
      out.append('\n');
    }
    System.out.print(out);
  }
}
