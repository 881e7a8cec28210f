// Adm: what the tests ask of a cluster, done by HBase's own client. It is the judge: nothing of it is
// shared with the Go code under test. "Adm help" lists the commands.
//
// Row keys and split points are written as HBase's shell writes them (Bytes.toBytesBinary: \x00 for a
// byte that is not a printable ASCII).

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.NamespaceExistException;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.quotas.QuotaSettingsFactory;
import org.apache.hadoop.hbase.quotas.SpaceViolationPolicy;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.security.AccessDeniedException;
import org.apache.hadoop.hbase.security.access.Permission;
import org.apache.hadoop.hbase.security.access.UserPermission;
import org.apache.hadoop.hbase.util.Bytes;

public final class Adm {
  private static final String HELP = String.join("\n",
      "digest TABLE [FAMILY]            rows, cells and SHA-256 of a full scan",
      "count TABLE                      rows",
      "full-scan TABLE FROM TO THREADS  rows, cells and time of a scan of timestamps, as --verify full reads",
      "cells-second TABLE               a second family with a lifetime, three versions in the first, no compactions",
      "cells-churn TABLE                cells are overwritten, deleted by each kind of marker, and expired",
      "cells-compact TABLE on|off       whether servers compact it",
      "cells-digest TABLE VERSIONS      rows, cells and SHA-256 of a scan with types and timestamps; 0: a raw scan of all",
      "cells-drain TABLE                how long a scan takes that does nothing",
      "create TABLE [--splits a,b,c] [--splits-hex 00ff,...] [--family f,g] [--compression C] [--encoding E]",
      "       [--bloom B] [--blocksize N] [--versions N] [--attribute K=V,...]   its namespace too",
      "drop TABLE                       nothing happens when it is not there",
      "truncate TABLE                   split points stay",
      "exists TABLE                     true or false",
      "split TABLE KEY                  waits until both daughters are open",
      "merge TABLE KEY KEY              the regions that hold the two keys; waits",
      "move TABLE KEY [HOST:PORT]       the region that holds the key; waits",
      "regions TABLE                    encoded name, start, end, server; tabs between",
      "describe TABLE",
      "flush TABLE | major-compact TABLE (waits) | disable TABLE | enable TABLE",
      "get TABLE ROW                    family:qualifier, timestamp, value; tabs between",
      "scan TABLE [LIMIT]               row, family:qualifier, timestamp, value; tabs between",
      "versions TABLE                   the same of all versions that a scan gives",
      "chosen TABLE VERSIONS SINCE UNTIL COLUMNS [START STOP]...   the same of some versions, times (UNTIL 0: no bound),",
      "                                 columns with commas between (-: all) and ranges of rows (STOP -: the table's end)",
      "put TABLE ROW FAMILY:QUALIFIER VALUE [TIMESTAMP]",
      "delete TABLE ROW [FAMILY:QUALIFIER]   the row, or all versions of the column",
      "locality TABLE                   server and share of local bytes of each region; tabs between",
      "quota TABLE|@NAMESPACE BYTES [POLICY]  a space quota, by default NO_INSERTS; the cluster needs hbase.quota.enabled",
      "ask-split TABLE KEY | ask-merge TABLE KEY KEY   what HBase answers, and how many regions there are then",
      "attribute TABLE KEY=VALUE        an attribute of the table, empty: none",
      "family TABLE FAMILY KEY=VALUE    an attribute of a family",
      "tracker TABLE KIND               the store-file tracker from now on: DEFAULT, FILE or MIGRATION",
      "restore TABLE SNAPSHOT           the table is as it was, the snapshot is gone",
      "grant TABLE[/FAMILY[/QUALIFIER]]|@NAMESPACE USER ACTIONS  letters of RWXCA, instead of what the user had there",
      "add-peer PEER some|all [NAMESPACE | TABLE[/FAMILY]]...   a disabled peer that takes these, or all but these",
      "enable-peer PEER | remove-peer PEER",
      "loads TABLE                      files of its bulk loads in the servers' logs, replicated and local",
      "servers                          live region servers",
      "write PATH TEXT | read PATH      a file of HDFS",
      "ls PATH                          all files below: mode, owner, path; tabs between",
      "probe                            live servers and crash procedures, when the master is initialised and hbase:meta open",
      "serve                            commands on standard input, one a line; tabs between words");

  private final Connection connection;

  private Adm(Connection connection) {
    this.connection = connection;
  }

  public static void main(String[] args) throws Exception {
    if (args.length == 0 || args[0].equals("help")) {
      System.out.println(HELP);
      System.exit(args.length == 0 ? 2 : 0);
    }
    Configuration conf = HBaseConfiguration.create();
    if (System.getProperty("bulkload.simple") != null) { // See As.
      conf.set("hbase.security.authentication", "simple");
      impatient(conf);
    }
    try (Connection connection = ConnectionFactory.createConnection(conf)) {
      Adm adm = new Adm(connection);
      if (args[0].equals("serve")) {
        adm.serve(System.in, System.out);
        return;
      }
      System.out.println(adm.run(args));
    } catch (Exception e) {
      System.err.println(message(e));
      System.exit(1);
    }
  }

  // One request a line, words separated by tabs; one answer a line, "ok" or "error", a tab, text.
  // \\, \t, \n and \r stand for themselves inside words and text.
  private void serve(InputStream in, PrintStream out) throws IOException {
    BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    PrintStream answers = new PrintStream(out, false, StandardCharsets.UTF_8);
    answers.print("ok\tserving\n");
    answers.flush();
    for (String line; (line = reader.readLine()) != null;) {
      String answer;
      try {
        answer = "ok\t" + escape(run(unescape(line)));
      } catch (Exception e) {
        answer = "error\t" + escape(message(e));
      }
      answers.print(answer + "\n");
      answers.flush();
    }
  }

  private static String message(Throwable e) {
    StringBuilder b = new StringBuilder();
    for (Throwable t = e; t != null && t != t.getCause(); t = t.getCause()) {
      if (b.length() > 0) {
        b.append(": ");
      }
      // A remote exception's message goes on with the server's stack.
      String text = String.valueOf(t.getMessage()).split("\n\\s+at ", 2)[0];
      b.append(t.getClass().getSimpleName()).append(' ').append(text.trim());
    }
    return b.toString();
  }

  private static String escape(String s) {
    return s.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
  }

  private static String[] unescape(String line) {
    String[] words = line.split("\t", -1);
    for (int i = 0; i < words.length; i++) {
      StringBuilder b = new StringBuilder();
      String w = words[i];
      for (int j = 0; j < w.length(); j++) {
        char c = w.charAt(j);
        if (c != '\\' || j + 1 == w.length()) {
          b.append(c);
          continue;
        }
        char d = w.charAt(++j);
        b.append(d == 't' ? '\t' : d == 'n' ? '\n' : d == 'r' ? '\r' : d);
      }
      words[i] = b.toString();
    }
    return words;
  }

  // For a question whose answer may be that nothing answers.
  private static void impatient(Configuration conf) {
    conf.setInt("hbase.client.retries.number", 1);
    conf.setInt("hbase.rpc.timeout", 4000);
    conf.setInt("hbase.client.operation.timeout", 5000);
    conf.setInt("hbase.client.meta.operation.timeout", 5000);
    conf.setInt("hbase.ipc.client.connect.max.retries", 0);
    conf.setInt("zookeeper.recovery.retry", 0);
  }

  // On a connection of its own, so that nothing is known from before.
  private String probe() throws Exception {
    try {
      return state();
    } catch (IOException e) {
      Throwable t = e;
      while (t.getCause() != null && t.getCause() != t) {
        t = t.getCause();
      }
      throw new IOException(t);
    }
  }

  private String state() throws Exception {
    Configuration conf = new Configuration(connection.getConfiguration());
    impatient(conf);
    List<String> lines = new ArrayList<>();
    try (Connection c = ConnectionFactory.createConnection(conf); Admin admin = c.getAdmin()) {
      admin.listNamespaceDescriptors(); // Refused until the master is initialised.
      for (ServerName s : admin.getRegionServers()) {
        lines.add("live " + s.toString());
      }
      long crashes = Arrays.stream(new Gson().fromJson(admin.getProcedures(), JsonObject[].class))
          .filter(p -> p.get("className").getAsString().endsWith(".ServerCrashProcedure"))
          .filter(p -> !p.get("state").getAsString().matches("SUCCESS|ROLLEDBACK")).count();
      lines.add("crashes " + crashes);
      try (Table t = c.getTable(TableName.META_TABLE_NAME)) {
        t.exists(new Get(Bytes.toBytes("hbase:namespace")));
      }
    }
    return String.join("\n", lines);
  }

  private String write(Path path, String text) throws IOException {
    try (FSDataOutputStream out = path.getFileSystem(connection.getConfiguration()).create(path, true)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return "wrote " + path;
  }

  private String read(Path path) throws IOException {
    try (FSDataInputStream in = path.getFileSystem(connection.getConfiguration()).open(path)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private String ls(Path path) throws IOException {
    FileSystem fs = path.getFileSystem(connection.getConfiguration());
    List<String> lines = new ArrayList<>();
    if (fs.exists(path)) {
      for (RemoteIterator<LocatedFileStatus> all = fs.listFiles(path, true); all.hasNext();) {
        LocatedFileStatus f = all.next();
        lines.add(f.getPermission() + "\t" + f.getOwner() + "\t" + f.getPath().toUri().getPath());
      }
    }
    Collections.sort(lines);
    return String.join("\n", lines);
  }

  private static String grant(Admin admin, String on, String user, String letters) throws Exception {
    List<Permission.Action> actions = new ArrayList<>();
    for (Permission.Action action : Permission.Action.values()) {
      if (letters.indexOf(action.code()) >= 0) {
        actions.add(action);
      }
    }
    if (actions.size() != letters.length()) {
      throw new IllegalArgumentException("unknown actions " + letters);
    }
    String[] place = on.split("/");
    Permission.Builder where = on.startsWith("@") ? Permission.newBuilder(on.substring(1)) : Permission.newBuilder(TableName.valueOf(place[0]));
    if (place.length > 1) {
      where.withFamily(Bytes.toBytes(place[1]));
    }
    if (place.length > 2) {
      where.withQualifier(Bytes.toBytes(place[2]));
    }
    Permission p = where.withActions(actions.toArray(new Permission.Action[0])).build();
    admin.grant(new UserPermission(user, p), false);
    long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
    // The master learns of it through ZooKeeper.
    while (!admin.hasUserPermissions(user, List.of(p)).get(0)) {
      if (System.nanoTime() > end) {
        throw new IOException("the master does not know the grant on " + on + " to " + user);
      }
      TimeUnit.MILLISECONDS.sleep(20);
    }
    return "granted " + letters + " on " + on + " to " + user;
  }

  private static String quota(Admin admin, String on, long bytes, SpaceViolationPolicy policy) throws Exception {
    admin.setQuota(on.startsWith("@") ? QuotaSettingsFactory.limitNamespaceSpace(on.substring(1), bytes, policy)
        : QuotaSettingsFactory.limitTableSpace(TableName.valueOf(on), bytes, policy));
    return "limited " + on;
  }

  private String run(String[] a) throws Exception {
    switch (a[0]) {
      case "probe": return probe();
      case "write": return write(new Path(a[1]), a[2]);
      case "read": return read(new Path(a[1]));
      case "ls": return ls(new Path(a[1]));
      default: // What follows.
    }
    if (a[0].equals("servers")) {
      try (Admin admin = connection.getAdmin()) {
        List<String> names = new ArrayList<>();
        for (ServerName s : admin.getRegionServers()) {
          names.add(s.toString());
        }
        Collections.sort(names);
        return String.join("\n", names);
      }
    }
    if (a.length < 2) {
      throw new IllegalArgumentException("unknown command or no table: " + String.join(" ", a) + "\n" + HELP);
    }
    if (a[0].equals("grant")) {
      try (Admin admin = connection.getAdmin()) {
        return grant(admin, a[1], a[2], a[3]);
      }
    }
    if (a[0].equals("quota")) {
      try (Admin admin = connection.getAdmin()) {
        return quota(admin, a[1], Long.parseLong(a[2]), SpaceViolationPolicy.valueOf(a.length > 3 ? a[3] : "NO_INSERTS"));
      }
    }
    try (Admin admin = connection.getAdmin()) {
      switch (a[0]) {
        case "add-peer": return Peers.add(admin, a);
        case "enable-peer":
          admin.enableReplicationPeer(a[1]);
          return "enabled peer " + a[1];
        case "remove-peer":
          admin.removeReplicationPeer(a[1]);
          return "removed peer " + a[1];
        default: // What follows.
      }
    }
    TableName table = TableName.valueOf(a[1]);
    try (Admin admin = connection.getAdmin()) {
      switch (a[0]) {
        case "loads": return Loads.of(connection.getConfiguration(), table);
        case "digest": return digest(table, a.length > 2 ? a[2] : null);
        case "count": return count(table);
        case "full-scan":
          return FullScan.run(connection, table, Long.parseLong(a[2]), Long.parseLong(a[3]), Integer.parseInt(a[4]));
        case "cells-second": return Cells.second(admin, table);
        case "cells-churn": return Cells.churn(connection, table);
        case "cells-compact": return Cells.compactions(admin, table, a[2].equals("on"));
        case "cells-digest": return Cells.digest(connection, table, Integer.parseInt(a[2]));
        case "cells-drain": return Cells.drain(connection, table);
        case "create": return create(admin, table, flags(a, 2));
        case "drop": return drop(admin, table);
        case "truncate":
          if (admin.isTableEnabled(table)) {
            admin.disableTable(table);
          }
          admin.truncateTable(table, true);
          return "truncated " + table;
        case "exists": return String.valueOf(admin.tableExists(table));
        case "split": return split(admin, table, key(a, 2));
        case "merge": return merge(admin, table, key(a, 2), key(a, 3));
        case "move": return move(admin, table, key(a, 2), a.length > 3 ? a[3] : null);
        case "regions": return regions(table);
        case "describe": return admin.getDescriptor(table).toString();
        case "flush":
          admin.flush(table);
          return "flushed " + table;
        case "major-compact": return majorCompact(admin, table);
        case "disable":
          admin.disableTable(table);
          return "disabled " + table;
        case "enable":
          admin.enableTable(table);
          return "enabled " + table;
        case "get": return get(table, key(a, 2));
        case "scan": return scan(table, new Scan().setLimit(a.length > 2 ? Integer.parseInt(a[2]) : Integer.MAX_VALUE));
        case "versions": return scan(table, new Scan().readAllVersions());
        case "chosen": return chosen(table, a);
        case "delete": return delete(table, a);
        case "put": return put(table, a);
        case "ask-split":
          return asked(table, () -> admin.splitRegionAsync(region(table, key(a, 2)).getRegionName(), key(a, 2)));
        case "ask-merge":
          return asked(table, () -> admin.mergeRegionsAsync(
              new byte[][] {region(table, key(a, 2)).getRegionName(), region(table, key(a, 3)).getRegionName()}, false));
        case "attribute": return attribute(admin, table, a[2].split("=", 2));
        case "family":
          ColumnFamilyDescriptor family = admin.getDescriptor(table).getColumnFamily(Bytes.toBytes(a[2]));
          admin.modifyColumnFamily(table, ColumnFamilyDescriptorBuilder.newBuilder(family).setValue(a[3].split("=", 2)[0], a[3].split("=", 2)[1]).build());
          return a[3] + " " + table;
        case "locality": return locality(admin, table);
        case "tracker":
          Admin.class.getMethod("modifyTableStoreFileTracker", TableName.class, String.class).invoke(admin, table, a[2]); // not in 2.4
          return a[2] + " " + table;
        case "restore":
          admin.disableTable(table);
          admin.restoreSnapshot(a[2]);
          admin.enableTable(table);
          admin.deleteSnapshot(a[2]);
          return "restored " + table;
        default: throw new IllegalArgumentException("unknown command " + a[0] + "\n" + HELP);
      }
    }
  }

  private static byte[] key(String[] a, int i) {
    if (a.length <= i) {
      throw new IllegalArgumentException(a[0] + " needs " + i + " words after it");
    }
    return Bytes.toBytesBinary(a[i]);
  }

  private static Map<String, String> flags(String[] a, int from) {
    List<String> known = Arrays.asList("splits", "splits-hex", "family", "compression", "encoding", "bloom",
        "blocksize", "versions", "attribute");
    Map<String, String> m = new HashMap<>();
    for (int i = from; i < a.length; i += 2) {
      if (!a[i].startsWith("--") || !known.contains(a[i].substring(2)) || i + 1 == a.length) {
        throw new IllegalArgumentException("bad flag " + a[i] + "; known, each with a value: " + known);
      }
      m.put(a[i].substring(2), a[i + 1]);
    }
    return m;
  }

  // The bytes hashed are those of "gen -format digest": row 0 family 0 qualifier 0 value 1, cell by cell.
  private String digest(TableName name, String family) throws Exception {
    MessageDigest sha = MessageDigest.getInstance("SHA-256");
    long rows = 0, cells = 0;
    byte[] zero = {0}, one = {1};
    Scan scan = new Scan().setCaching(2000).setCacheBlocks(false);
    if (family != null) {
      scan.addFamily(Bytes.toBytes(family));
    }
    try (Table t = connection.getTable(name); ResultScanner scanner = t.getScanner(scan)) {
      for (Result r : scanner) {
        rows++;
        for (Cell c : r.rawCells()) {
          cells++;
          sha.update(c.getRowArray(), c.getRowOffset(), c.getRowLength());
          sha.update(zero);
          sha.update(c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength());
          sha.update(zero);
          sha.update(c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength());
          sha.update(zero);
          sha.update(c.getValueArray(), c.getValueOffset(), c.getValueLength());
          sha.update(one);
        }
      }
    }
    return String.format("rows=%d cells=%d sha256=%s", rows, cells, Bytes.toHex(sha.digest()));
  }

  private String count(TableName name) throws IOException {
    long rows = 0;
    Scan scan = new Scan().setCaching(2000).setCacheBlocks(false)
        .setFilter(new org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter());
    try (Table t = connection.getTable(name); ResultScanner scanner = t.getScanner(scan)) {
      for (Result r : scanner) {
        rows++;
      }
    }
    return String.valueOf(rows);
  }

  private String create(Admin admin, TableName name, Map<String, String> flags) throws IOException {
    String namespace = name.getNamespaceAsString();
    if (!namespace.equals(NamespaceDescriptor.DEFAULT_NAMESPACE_NAME_STR)) {
      try {
        admin.createNamespace(NamespaceDescriptor.create(namespace).build());
      } catch (NamespaceExistException | AccessDeniedException e) {
        // It is there, or the table cannot be made either.
      }
    }
    TableDescriptorBuilder t = TableDescriptorBuilder.newBuilder(name);
    for (String family : flags.getOrDefault("family", "f").split(",")) {
      ColumnFamilyDescriptorBuilder f = ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytesBinary(family));
      if (flags.containsKey("compression")) {
        f.setCompressionType(Compression.Algorithm.valueOf(flags.get("compression").toUpperCase()));
      }
      if (flags.containsKey("encoding")) {
        f.setDataBlockEncoding(DataBlockEncoding.valueOf(flags.get("encoding").toUpperCase()));
      }
      if (flags.containsKey("bloom")) {
        f.setBloomFilterType(BloomType.valueOf(flags.get("bloom").toUpperCase()));
      }
      if (flags.containsKey("blocksize")) {
        f.setBlocksize(Integer.parseInt(flags.get("blocksize")));
      }
      if (flags.containsKey("versions")) {
        f.setMaxVersions(Integer.parseInt(flags.get("versions")));
      }
      t.setColumnFamily(f.build());
    }
    if (flags.containsKey("attribute")) {
      for (String kv : flags.get("attribute").split(",")) {
        int eq = kv.indexOf('=');
        t.setValue(kv.substring(0, eq), kv.substring(eq + 1));
      }
    }
    List<byte[]> splits = new ArrayList<>();
    for (String s : words(flags.get("splits"))) {
      splits.add(Bytes.toBytesBinary(s));
    }
    for (String s : words(flags.get("splits-hex"))) {
      splits.add(Bytes.fromHex(s));
    }
    if (splits.isEmpty()) {
      admin.createTable(t.build());
    } else {
      admin.createTable(t.build(), splits.toArray(new byte[0][]));
    }
    return "created " + name + " with " + (splits.size() + 1) + " regions";
  }

  private static String[] words(String list) {
    return list == null || list.isEmpty() ? new String[0] : list.split(",");
  }

  private static String drop(Admin admin, TableName name) throws IOException {
    if (!admin.tableExists(name)) {
      return "no table " + name;
    }
    if (admin.isTableEnabled(name)) {
      admin.disableTable(name);
    }
    admin.deleteTable(name);
    return "dropped " + name;
  }

  private RegionInfo region(TableName name, byte[] key) throws IOException {
    return connection.getRegionLocator(name).getRegionLocation(key, true).getRegion();
  }

  private String split(Admin admin, TableName name, byte[] key) throws Exception {
    int before = locations(name).size();
    admin.splitRegionAsync(region(name, key).getRegionName(), key).get(60, TimeUnit.SECONDS);
    waitFor("both halves of " + name + " open", () -> locations(name).size() > before && allOpen(name));
    return "split " + name + " at " + Bytes.toStringBinary(key);
  }

  private String merge(Admin admin, TableName name, byte[] a, byte[] b) throws Exception {
    int before = locations(name).size();
    byte[][] two = {region(name, a).getEncodedNameAsBytes(), region(name, b).getEncodedNameAsBytes()};
    admin.mergeRegionsAsync(two, false).get(60, TimeUnit.SECONDS);
    waitFor("the merged region of " + name + " open", () -> locations(name).size() < before && allOpen(name));
    return "merged two regions of " + name;
  }

  private String move(Admin admin, TableName name, byte[] key, String server) throws Exception {
    RegionInfo r = region(name, key);
    ServerName from = connection.getRegionLocator(name).getRegionLocation(key, true).getServerName();
    ServerName to = null;
    for (ServerName s : admin.getRegionServers()) {
      if (server == null ? !s.equals(from) : s.getAddress().toString().equals(server)) {
        to = s;
      }
    }
    if (to == null) {
      throw new IllegalArgumentException("no live region server " + (server == null ? "besides " + from : server));
    }
    admin.move(r.getEncodedNameAsBytes(), to);
    ServerName target = to;
    waitFor("the region open on " + to,
        () -> target.equals(connection.getRegionLocator(name).getRegionLocation(key, true).getServerName()) && allOpen(name));
    return "moved " + r.getEncodedName() + " to " + to;
  }

  private String asked(TableName name, Callable<Future<Void>> call) throws Exception {
    String answer = "done";
    try {
      call.call().get(1, TimeUnit.MINUTES);
    } catch (IOException | ExecutionException e) {
      answer = e.toString();
    }
    return locations(name).size() + " regions: " + answer;
  }

  private String attribute(Admin admin, TableName name, String[] kv) throws IOException {
    TableDescriptorBuilder b = TableDescriptorBuilder.newBuilder(admin.getDescriptor(name));
    admin.modifyTable((kv[1].isEmpty() ? b.removeValue(Bytes.toBytes(kv[0])) : b.setValue(kv[0], kv[1])).build());
    return "changed " + name;
  }

  private String locality(Admin admin, TableName name) throws Exception {
    List<String> lines = new ArrayList<>();
    for (ServerName s : admin.getRegionServers()) {
      for (RegionMetrics m : admin.getRegionMetrics(s, name)) {
        lines.add(s.getAddress() + "\t" + m.getDataLocality());
      }
    }
    return String.join("\n", lines);
  }

  private List<HRegionLocation> locations(TableName name) throws IOException {
    connection.clearRegionLocationCache();
    return connection.getRegionLocator(name).getAllRegionLocations();
  }

  // Meta names a server for a region only when it has been opened there; a read proves that it answers.
  private boolean allOpen(TableName name) throws IOException {
    try (Table t = connection.getTable(name)) {
      for (HRegionLocation l : locations(name)) {
        if (l.getServerName() == null) {
          return false;
        }
        byte[] start = l.getRegion().getStartKey();
        t.exists(new Get(start.length == 0 ? new byte[] {0} : start));
      }
    }
    return true;
  }

  private static void waitFor(String what, Callable<Boolean> condition) throws Exception {
    waitFor(120, what, condition);
  }

  private static void waitFor(int seconds, String what, Callable<Boolean> condition) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (!condition.call()) {
      if (System.nanoTime() > deadline) {
        throw new IOException("not within " + seconds + " s: " + what);
      }
      Thread.sleep(50);
    }
  }

  private String regions(TableName name) throws IOException {
    List<String> lines = new ArrayList<>();
    for (HRegionLocation l : locations(name)) {
      RegionInfo r = l.getRegion();
      lines.add(String.join("\t", r.getEncodedName(), Bytes.toStringBinary(r.getStartKey()),
          Bytes.toStringBinary(r.getEndKey()), String.valueOf(l.getServerName())));
    }
    return String.join("\n", lines);
  }

  private String majorCompact(Admin admin, TableName name) throws Exception {
    admin.flush(name);
    long asked = System.currentTimeMillis();
    admin.majorCompact(name);
    // A store that is being compacted forgets the request (CompactSplit.selectCompaction of HBase 2.6.4 finds no files), so it is
    // repeated for the regions that are left. The compaction state is NONE before the servers have queued the request as well as
    // after it, so the files themselves are asked: all of a region come from a major compaction later than the first request.
    long[] again = {asked + 5_000};
    waitFor(300, "major compaction of " + name, () -> {
      List<byte[]> left = new ArrayList<>();
      for (ServerName s : admin.getRegionServers()) {
        for (RegionMetrics m : admin.getRegionMetrics(s, name)) {
          if (m.getStoreFileCount() > m.getStoreCount()
              || m.getStoreFileCount() > 0 && m.getLastMajorCompactionTimestamp() < asked) {
            left.add(m.getRegionName());
          }
        }
      }
      if (!left.isEmpty() && System.currentTimeMillis() >= again[0]) {
        for (byte[] region : left) {
          admin.majorCompactRegion(region);
        }
        again[0] = System.currentTimeMillis() + 5_000;
      }
      return left.isEmpty();
    });
    return "compacted " + name;
  }

  private String get(TableName name, byte[] row) throws IOException {
    try (Table t = connection.getTable(name)) {
      List<String> lines = new ArrayList<>();
      Result r = t.get(new Get(row).readAllVersions());
      for (Cell c : r.isEmpty() ? new Cell[0] : r.rawCells()) {
        lines.add(cell(c));
      }
      return String.join("\n", lines);
    }
  }

  private String scan(TableName name, Scan what) throws IOException {
    List<String> lines = new ArrayList<>();
    try (Table t = connection.getTable(name); ResultScanner scanner = t.getScanner(what)) {
      for (Result r : scanner) {
        for (Cell c : r.rawCells()) {
          lines.add(Bytes.toStringBinary(c.getRowArray(), c.getRowOffset(), c.getRowLength()) + "\t" + cell(c));
        }
      }
    }
    return String.join("\n", lines);
  }

  private String chosen(TableName name, String[] a) throws IOException {
    List<String> parts = new ArrayList<>();
    for (int i = 6; i <= Math.max(6, a.length - 1); i += 2) {
      long until = Long.parseLong(a[4]);
      Scan scan = new Scan().readVersions(Integer.parseInt(a[2])).setTimeRange(Long.parseLong(a[3]), until == 0 ? Long.MAX_VALUE : until);
      for (String column : a[5].equals("-") ? new String[0] : a[5].split(",")) {
        int colon = column.indexOf(':');
        if (colon < 0) {
          scan.addFamily(Bytes.toBytesBinary(column));
        } else {
          scan.addColumn(Bytes.toBytesBinary(column.substring(0, colon)), Bytes.toBytesBinary(column.substring(colon + 1)));
        }
      }
      if (i < a.length) {
        scan.withStartRow(key(a, i));
        if (!a[i + 1].equals("-")) {
          scan.withStopRow(key(a, i + 1));
        }
      }
      String lines = scan(name, scan);
      if (!lines.isEmpty()) {
        parts.add(lines);
      }
    }
    return String.join("\n", parts);
  }

  private static String cell(Cell c) {
    return Bytes.toStringBinary(c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength()) + ":"
        + Bytes.toStringBinary(c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength()) + "\t"
        + c.getTimestamp() + "\t" + Bytes.toStringBinary(c.getValueArray(), c.getValueOffset(), c.getValueLength());
  }

  private String delete(TableName name, String[] a) throws IOException {
    Delete d = new Delete(key(a, 2));
    if (a.length > 3) {
      int colon = a[3].indexOf(':');
      d.addColumns(Bytes.toBytesBinary(a[3].substring(0, colon)), Bytes.toBytesBinary(a[3].substring(colon + 1)));
    }
    try (Table t = connection.getTable(name)) {
      t.delete(d);
    }
    return "deleted " + a[2];
  }

  private String put(TableName name, String[] a) throws IOException {
    byte[] row = key(a, 2);
    String column = a.length > 4 ? a[3] : "";
    int colon = column.indexOf(':');
    if (colon < 1) {
      throw new IllegalArgumentException("put TABLE ROW FAMILY:QUALIFIER VALUE [TIMESTAMP]");
    }
    Put p = new Put(row);
    byte[] family = Bytes.toBytesBinary(column.substring(0, colon));
    byte[] qualifier = Bytes.toBytesBinary(column.substring(colon + 1));
    byte[] value = a[4].getBytes(StandardCharsets.UTF_8);
    if (a.length > 5) {
      p.addColumn(family, qualifier, Long.parseLong(a[5]), value);
    } else {
      p.addColumn(family, qualifier, value);
    }
    try (Table t = connection.getTable(name)) {
      t.put(p);
    }
    return "put " + a[2];
  }
}
