// As runs another main class, with its arguments, as a user: by -Dbulkload.principal and -Dbulkload.keytab
// after a login, by -Dbulkload.simple as a user without credentials, whatever the configuration says.

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;

public final class As {
  public static void main(String[] args) throws Throwable {
    Configuration conf = new Configuration();
    String simple = System.getProperty("bulkload.simple");
    if (simple != null) {
      conf.set("hadoop.security.authentication", "simple");
      UserGroupInformation.setConfiguration(conf);
      UserGroupInformation.setLoginUser(UserGroupInformation.createRemoteUser(simple));
    } else {
      UserGroupInformation.setConfiguration(conf);
      UserGroupInformation.loginUserFromKeytab(System.getProperty("bulkload.principal"), System.getProperty("bulkload.keytab"));
    }
    try {
      Class.forName(args[0]).getMethod("main", String[].class)
          .invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
