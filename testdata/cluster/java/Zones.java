// Zones makes keys and encryption zones: Zones KEY=PATH... makes a key of 128 bits if the KMS does not have it, the directory if it is
// not there, and the zone. A key without a path is made alone.

import java.io.IOException;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.key.KeyProvider;
import org.apache.hadoop.crypto.key.KeyProviderFactory;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.client.CreateEncryptionZoneFlag;
import org.apache.hadoop.hdfs.client.HdfsAdmin;

public final class Zones {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.addResource("hdfs-site.xml");
    KeyProvider keys = KeyProviderFactory.getProviders(conf).get(0);
    for (String arg : args) {
      String[] zone = arg.split("=", 2);
      if (keys.getMetadata(zone[0]) == null) {
        keys.createKey(zone[0], KeyProvider.options(conf).setBitLength(128));
        keys.flush();
      }
      if (zone.length < 2) {
        continue;
      }
      FileSystem fs = FileSystem.get(conf);
      Path path = new Path(zone[1]);
      if (!fs.mkdirs(path)) {
        throw new IOException("mkdir " + path);
      }
      new HdfsAdmin(fs.getUri(), conf).createEncryptionZone(path, zone[0], EnumSet.of(CreateEncryptionZoneFlag.NO_TRASH));
    }
  }
}
