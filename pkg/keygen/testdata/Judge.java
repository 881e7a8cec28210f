import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.zip.CRC32;

/**
 * What Java makes of texts and of dates. Standard input is requests, each a byte and its operands:
 * 's', a length and UTF-8, for the text's hashes and its reverse;
 * 'd', three strings (zone, layout, date), for the date in milliseconds and written by "uuuu-MM-dd HH:mm:ss.SSS XXX".
 */
class Judge {
  public static void main(String[] args) throws Exception {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 20));
    for (int kind; (kind = in.read()) >= 0;) {
      if (kind == 's') {
        text(new String(bytes(in), StandardCharsets.UTF_8), out);
      } else {
        date(string(in), string(in), string(in), out);
      }
    }
    out.flush();
  }

  static byte[] bytes(DataInputStream in) throws Exception {
    byte[] b = new byte[in.readInt()];
    in.readFully(b);
    return b;
  }

  static String string(DataInputStream in) throws Exception {
    return new String(bytes(in), StandardCharsets.UTF_8);
  }

  static void write(byte[] b, DataOutputStream out) throws Exception {
    out.writeInt(b.length);
    out.write(b);
  }

  static void text(String s, DataOutputStream out) throws Exception {
    byte[] utf8 = s.getBytes(StandardCharsets.UTF_8);
    out.writeInt(s.hashCode());
    out.writeInt(Long.hashCode(utf8.length * 0x9E3779B97F4A7C15L));
    for (String name : new String[] {"MD5", "SHA-1", "SHA-256"}) {
      out.write(MessageDigest.getInstance(name).digest(utf8));
    }
    CRC32 crc = new CRC32();
    crc.update(utf8);
    out.writeInt((int) crc.getValue());
    for (int n : new int[] {10, 50, 1000}) {
      out.writeInt(Math.abs(s.hashCode() % n));
    }
    out.write((byte) Math.abs(s.hashCode() % 256));
    for (int n : new int[] {10, 16, 128, 256}) {
      out.write((byte) (s.hashCode() % n));
    }
    write(new StringBuilder(s).reverse().toString().getBytes(StandardCharsets.UTF_8), out);
    write(s.trim().getBytes(StandardCharsets.UTF_8), out);
  }

  static void date(String zone, String layout, String date, DataOutputStream out) throws Exception {
    ZoneId id = ZoneId.of(zone);
    long t = LocalDateTime.parse(date, DateTimeFormatter.ofPattern(layout)).atZone(id).toInstant().toEpochMilli();
    out.writeLong(t);
    out.writeLong(Long.MAX_VALUE - t);
    write(DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSS XXX").format(Instant.ofEpochMilli(t).atZone(id)).getBytes(StandardCharsets.UTF_8), out);
  }
}
