// Files: what the tests have Hadoop's own client do with files of HDFS.
//
//   policy POLICY DIR...               enables an erasure coding policy, which is added if it is RS-DATA-PARITY-CELLk with other cells than 1024k,
//                                      and has new files of the directories have it
//   put LOCALDIR PATH[,KEY=VALUE]...   all files of a local directory into each PATH, with those settings of the client
//   sums PATH[@OFFSET+LENGTH]...       SHA-256 of each file, or of a part of it, which is read by itself

import java.io.File;
import java.security.MessageDigest;
import java.util.HexFormat;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.ErasureCodingPolicy;
import org.apache.hadoop.io.erasurecode.ECSchema;

public final class Files {
  public static void main(String[] args) throws Exception {
    for (int i = args[0].equals("sums") ? 1 : 2; i < args.length; i++) {
      switch (args[0]) {
        case "policy":
          DistributedFileSystem fs = (DistributedFileSystem) FileSystem.get(new Configuration());
          String[] words = args[1].split("-");
          if (!args[1].endsWith("-1024k")) {
            ECSchema schema = new ECSchema("rs", Integer.parseInt(words[1]), Integer.parseInt(words[2]));
            int cell = 1024 * Integer.parseInt(words[3].replace("k", ""));
            fs.addErasureCodingPolicies(new ErasureCodingPolicy[] {new ErasureCodingPolicy(schema, cell)});
          }
          fs.enableErasureCodingPolicy(args[1]);
          fs.setErasureCodingPolicy(new Path(args[i]), args[1]);
          break;
        case "put":
          put(new File(args[1]), args[i].split(","));
          break;
        default:
          System.out.println(sum(args[i]));
      }
    }
  }

  private static void put(File local, String[] words) throws Exception {
    Configuration conf = new Configuration();
    for (int i = 1; i < words.length; i++) {
      String[] setting = words[i].split("=", 2);
      conf.set(setting[0], setting[1]);
    }
    try (FileSystem fs = FileSystem.newInstance(conf)) {
      for (File f : local.listFiles()) {
        fs.copyFromLocalFile(new Path(f.getPath()), new Path(words[0], f.getName()));
      }
    }
  }

  private static String sum(String what) throws Exception {
    String[] part = what.split("[@+]");
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    FileSystem fs = FileSystem.get(new Configuration());
    try (FSDataInputStream in = fs.open(new Path(part[0]))) {
      if (part.length > 1) {
        byte[] bytes = new byte[Integer.parseInt(part[2])];
        in.readFully(Long.parseLong(part[1]), bytes);
        digest.update(bytes);
      } else {
        byte[] bytes = new byte[1 << 20];
        for (int n; (n = in.read(bytes)) > 0;) {
          digest.update(bytes, 0, n);
        }
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }
}
