// SecureIOUtils of Hadoop, for a test cluster with Kerberos whose containers all run as one user of the operating system.
// Hadoop's own wants its native library, and that a file's owner is the user who submitted the job. It has the public
// methods of hadoop-common 3.4.3 and looks at no owner: never use it where users are kept apart.
package org.apache.hadoop.io;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

public class SecureIOUtils {
  public static RandomAccessFile openForRandomRead(File f, String mode, String owner, String group) throws IOException {
    return new RandomAccessFile(f, mode);
  }

  public static FSDataInputStream openFSDataInputStream(File f, String owner, String group) throws IOException {
    return FileSystem.getLocal(new Configuration(false)).getRaw().open(new Path(f.toURI()));
  }

  public static FileInputStream openForRead(File f, String owner, String group) throws IOException {
    return new FileInputStream(f);
  }

  public static FileOutputStream createForWrite(File f, int permissions) throws IOException {
    if (!f.createNewFile()) {
      throw new AlreadyExistsException("File " + f + " already exists");
    }
    StringBuilder mode = new StringBuilder("rwxrwxrwx");
    for (int i = 0; i < 9; i++) {
      if ((permissions & (1 << (8 - i))) == 0) {
        mode.setCharAt(i, '-');
      }
    }
    Files.setPosixFilePermissions(f.toPath(), PosixFilePermissions.fromString(mode.toString()));
    return new FileOutputStream(f);
  }

  public static class AlreadyExistsException extends IOException {
    private static final long serialVersionUID = 1L;

    public AlreadyExistsException(String message) {
      super(message);
    }

    public AlreadyExistsException(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
