// PlainService: rows of a check_id over HTTP by the JDK's own server and HBase's client, as a team would write it in a day. Peer of
// bulkload serve in make bench-serve.
//
//   PlainService TABLE SALTS COLUMN,... shared|each
//
// shared holds one connection to HBase for all requests, each opens one for every request, which is what the old service did (that one
// never closed them). The port is printed on standard output. GET /v1/check/rows?check_id=... answers as bulkload serve does.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;

public final class PlainService {
  private static final byte[] FAMILY = {'f'};
  private static final int LIMIT = 100;

  private final Configuration conf;
  private final TableName table;
  private final int salts;
  private final String[] columns;
  private final byte[][] qualifiers;
  private final Connection shared; // null: one for each request

  private PlainService(Configuration conf, String[] args) throws IOException {
    this.conf = conf;
    table = TableName.valueOf(args[0]);
    salts = Integer.parseInt(args[1]);
    columns = args[2].split(",");
    qualifiers = new byte[columns.length][];
    for (int i = 0; i < columns.length; i++) {
      qualifiers[i] = columns[i].getBytes(StandardCharsets.UTF_8);
    }
    shared = args[3].equals("shared") ? ConnectionFactory.createConnection(conf) : null;
  }

  public static void main(String[] args) throws Exception {
    PlainService service = new PlainService(HBaseConfiguration.create(), args);
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1024);
    server.setExecutor(Executors.newFixedThreadPool(200)); // as many as Tomcat has
    server.createContext("/v1/check/rows", service::answer);
    server.start();
    System.out.println(server.getAddress().getPort());
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      byte[] body;
      int status = 200;
      try {
        String query = exchange.getRequestURI().getRawQuery();
        String id = URLDecoder.decode(query.substring(query.indexOf('=') + 1), StandardCharsets.UTF_8);
        if (shared != null) {
          body = rows(shared, id);
        } else {
          try (Connection connection = ConnectionFactory.createConnection(conf)) {
            body = rows(connection, id);
          }
        }
      } catch (Exception e) {
        status = 500;
        body = e.toString().getBytes(StandardCharsets.UTF_8);
      }
      exchange.getResponseHeaders().set("Content-Type", "application/json");
      exchange.sendResponseHeaders(status, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  private byte[] rows(Connection connection, String id) throws Exception {
    byte[] prefix = prefix(id);
    byte[] stop = Arrays.copyOf(prefix, prefix.length);
    stop[stop.length - 1]++; // a hexadecimal digit
    Scan scan = new Scan().withStartRow(prefix).withStopRow(stop).addFamily(FAMILY).setLimit(LIMIT).setCaching(LIMIT);
    StringBuilder b = new StringBuilder(16 << 10).append("{\"rows\":[");
    try (Table t = connection.getTable(table); ResultScanner scanner = t.getScanner(scan)) {
      boolean first = true;
      for (Result row : scanner) {
        if (!first) {
          b.append(',');
        }
        first = false;
        b.append('{');
        for (int i = 0; i < columns.length; i++) {
          if (i > 0) {
            b.append(',');
          }
          byte[] value = row.getValue(FAMILY, qualifiers[i]);
          text(b, columns[i]);
          b.append(':');
          if (value == null) {
            b.append("null");
          } else {
            text(b, new String(value, StandardCharsets.UTF_8));
          }
        }
        b.append('}');
      }
    }
    return b.append("],\"next_page\":null}").toString().getBytes(StandardCharsets.UTF_8);
  }

  private byte[] prefix(String id) throws Exception {
    StringBuilder b = new StringBuilder(40);
    String salt = String.valueOf(Math.abs(id.hashCode() % salts));
    for (int n = String.valueOf(salts - 1).length() - salt.length(); n > 0; n--) {
      b.append('0');
    }
    b.append(salt);
    for (byte x : MessageDigest.getInstance("MD5").digest(id.getBytes(StandardCharsets.UTF_8))) {
      b.append(Character.forDigit(x >> 4 & 15, 16)).append(Character.forDigit(x & 15, 16));
    }
    return b.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static void text(StringBuilder b, String s) {
    b.append('"');
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c == '"' || c == '\\') {
        b.append('\\').append(c);
      } else if (c < ' ') {
        b.append(String.format("\\u%04x", (int) c));
      } else {
        b.append(c);
      }
    }
    b.append('"');
  }
}
