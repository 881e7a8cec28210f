import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.phoenix.schema.types.*;

/** Reads "type TAB text" lines, and prints them with the bytes that Phoenix stores, in hex. It made phoenix.txt. */
public class PhoenixBytes {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null;) {
      String[] f = line.split("\t", 2);
      System.out.println(line + "\t" + Bytes.toHex(bytes(f[0], f[1])));
    }
  }

  private static byte[] bytes(String type, String text) {
    switch (type) {
      case "short": return PSmallint.INSTANCE.toBytes(Short.parseShort(text));
      case "int": return PInteger.INSTANCE.toBytes(Integer.parseInt(text));
      case "long": return PLong.INSTANCE.toBytes(Long.parseLong(text));
      case "float": return PFloat.INSTANCE.toBytes(Float.parseFloat(text));
      case "double": return PDouble.INSTANCE.toBytes(Double.parseDouble(text));
      case "boolean": return PBoolean.INSTANCE.toBytes(Boolean.parseBoolean(text));
      case "decimal": return PDecimal.INSTANCE.toBytes(new BigDecimal(text));
      case "date": return PDate.INSTANCE.toBytes(new Date(instant(text).toInstant(ZoneOffset.UTC).toEpochMilli()));
      case "timestamp": return PTimestamp.INSTANCE.toBytes(Timestamp.from(instant(text).toInstant(ZoneOffset.UTC)));
      default: throw new IllegalArgumentException(type);
    }
  }

  private static LocalDateTime instant(String text) {
    return LocalDateTime.parse(text, DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSSSSSSSS"));
  }
}
