// Negotiate: a GET by a caller with a Kerberos ticket, by the JDK's GSS-API with SPNEGO and mutual authentication.
//
//   java Negotiate.java URL KEYTAB PRINCIPAL
//
// It prints the status, and whether the service has proven itself by its answer.

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.PrivilegedExceptionAction;
import java.util.Base64;
import java.util.Map;
import javax.security.auth.Subject;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import org.ietf.jgss.GSSContext;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.GSSName;
import org.ietf.jgss.Oid;

public final class Negotiate {
  public static void main(String[] args) throws Exception {
    Map<String, String> options = Map.of("useKeyTab", "true", "keyTab", args[1], "principal", args[2], "doNotPrompt", "true", "refreshKrb5Config", "true");
    LoginContext login = new LoginContext("", new Subject(), null, new Configuration() {
      @Override
      public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
        return new AppConfigurationEntry[] {new AppConfigurationEntry("com.sun.security.auth.module.Krb5LoginModule",
            AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, options)};
      }
    });
    login.login();
    Subject.doAs(login.getSubject(), (PrivilegedExceptionAction<Void>) () -> {
      GSSManager manager = GSSManager.getInstance();
      GSSContext context = manager.createContext(manager.createName("HTTP@localhost", GSSName.NT_HOSTBASED_SERVICE),
          new Oid("1.3.6.1.5.5.2"), null, GSSContext.DEFAULT_LIFETIME);
      context.requestMutualAuth(true);
      byte[] token = context.initSecContext(new byte[0], 0, 0);
      HttpResponse<String> answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(args[0]))
          .header("Authorization", "Negotiate " + Base64.getEncoder().encodeToString(token)).build(), HttpResponse.BodyHandlers.ofString());
      String reply = answer.headers().firstValue("WWW-Authenticate").orElse("Negotiate ").substring("Negotiate ".length());
      byte[] more = context.initSecContext(Base64.getDecoder().decode(reply), 0, Base64.getDecoder().decode(reply).length);
      System.out.println(answer.statusCode() + " " + (more == null && context.isEstablished() && context.getMutualAuthState()));
      return null;
    });
  }
}
