import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfig;
import org.apache.hadoop.hbase.replication.ReplicationPeerConfigBuilder;

/** Replication peers that take what they name, or all but that, and are disabled: what is queued for one stays. */
final class Peers {
  private Peers() {}

  /** add PEER some|all [NAMESPACE | TABLE[/FAMILY]]... */
  static String add(Admin admin, String[] a) throws IOException {
    Set<String> namespaces = new HashSet<>();
    Map<TableName, List<String>> tables = new HashMap<>();
    for (String what : Arrays.copyOfRange(a, 3, a.length)) {
      String[] place = what.split("/");
      if (place[0].contains(":")) {
        List<String> families = tables.computeIfAbsent(TableName.valueOf(place[0]), t -> new ArrayList<>());
        families.addAll(Arrays.asList(place).subList(1, place.length));
      } else {
        namespaces.add(what);
      }
    }
    boolean all = a[2].equals("all");
    ReplicationPeerConfigBuilder peer = ReplicationPeerConfig.newBuilder().setReplicateAllUserTables(all)
        .setReplicationEndpointImpl("org.apache.hadoop.hbase.replication.VerifyWALEntriesReplicationEndpoint");
    if (all) {
      peer.setExcludeNamespaces(namespaces).setExcludeTableCFsMap(tables);
    } else {
      peer.setNamespaces(namespaces).setTableCFsMap(tables);
    }
    admin.addReplicationPeer(a[1], peer.build(), false);
    return "peer " + a[1];
  }
}
