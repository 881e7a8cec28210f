// Fs runs commands of Hadoop's file system shell, with ";" between them, up to the first that fails. FsShell's own main wants each
// configuration file that a class has named, also one of YARN that is not there.

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.util.ToolRunner;

public final class Fs {
  public static void main(String[] args) throws Exception {
    List<String> command = new ArrayList<>();
    for (int i = 0; i <= args.length; i++) {
      if (i < args.length && !args[i].equals(";")) {
        command.add(args[i]);
        continue;
      }
      int code = ToolRunner.run(new Configuration(), new FsShell(), command.toArray(new String[0]));
      if (code != 0) {
        System.exit(code);
      }
      command.clear();
    }
  }
}
