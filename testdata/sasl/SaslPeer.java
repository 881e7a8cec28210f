import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedActionException;
import java.security.PrivilegedExceptionAction;
import java.util.Map;
import javax.security.auth.Subject;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import javax.security.sasl.AuthorizeCallback;
import javax.security.sasl.RealmCallback;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslException;
import javax.security.sasl.SaslServer;

/**
 * The JDK's servers of DIGEST-MD5 and GSSAPI, which judge a client. Messages on standard input and output stand behind their
 * length in four bytes. Once the client is logged in, each piece is opened and sealed back, reversed. A refusal is a length of
 * -1.
 *
 * Arguments: protocol, server name, quality of protection, user name, password.
 *
 * Or: GSSAPI, keytab. Then there are conversations one after the other: each begins with a message "protocol quality", of which
 * the server is protocol/localhost, and ends with a length of -1 from either side. When it has succeeded, the server sends
 * who has logged in.
 */
public final class SaslPeer {
  private static final DataInputStream in = new DataInputStream(System.in);
  private static final DataOutputStream out = new DataOutputStream(System.out);

  public static void main(String[] args) throws Exception {
    try {
      if (args[0].equals("GSSAPI")) {
        gssapi(args[1]);
      } else {
        digest(args);
      }
    } catch (EOFException e) {
      return;
    }
  }

  private static void digest(String[] args) throws Exception {
    CallbackHandler handler = callbacks -> {
      String name = null;
      for (Callback c : callbacks) {
        if (c instanceof NameCallback n) {
          name = n.getDefaultName();
        } else if (c instanceof RealmCallback r) {
          r.setText(r.getDefaultText());
        } else if (c instanceof PasswordCallback p) {
          p.setPassword((args[3].equals(name) ? args[4] : "no such user").toCharArray());
        } else if (c instanceof AuthorizeCallback a) {
          a.setAuthorized(a.getAuthenticationID().equals(a.getAuthorizationID()));
        }
      }
    };
    SaslServer server = Sasl.createSaslServer("DIGEST-MD5", args[0], args[1],
        Map.of(Sasl.QOP, args[2], Sasl.SERVER_AUTH, "true"), handler);
    try {
      send(server.evaluateResponse(new byte[0]));
      while (!server.isComplete()) {
        send(server.evaluateResponse(read()));
      }
      converse(server);
    } catch (SaslException e) {
      refuse(e);
    }
  }

  private static void gssapi(String keytab) throws Exception {
    Configuration keys = new Configuration() {
      @Override
      public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
        return new AppConfigurationEntry[] {new AppConfigurationEntry("com.sun.security.auth.module.Krb5LoginModule",
            AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, Map.of("useKeyTab", "true", "keyTab", keytab,
                "principal", "*", "storeKey", "true", "isInitiator", "false", "doNotPrompt", "true"))};
      }
    };
    LoginContext login = new LoginContext("", null, null, keys);
    login.login();
    while (true) {
      String[] begin = new String(read(), StandardCharsets.UTF_8).split(" ");
      try {
        Subject.doAs(login.getSubject(), (PrivilegedExceptionAction<Void>) () -> {
          CallbackHandler handler = callbacks -> {
            for (Callback c : callbacks) {
              if (c instanceof AuthorizeCallback a) {
                a.setAuthorized(a.getAuthenticationID().equals(a.getAuthorizationID()));
              }
            }
          };
          SaslServer server = Sasl.createSaslServer("GSSAPI", begin[0], "localhost", Map.of(Sasl.QOP, begin[1]), handler);
          while (!server.isComplete()) {
            byte[] answer = server.evaluateResponse(read());
            if (!server.isComplete()) {
              send(answer);
            }
          }
          send(server.getAuthorizationID().getBytes(StandardCharsets.UTF_8));
          converse(server);
          return null;
        });
      } catch (PrivilegedActionException e) {
        if (e.getCause() instanceof EOFException) {
          return;
        }
        refuse(e.getCause());
      }
    }
  }

  private static void refuse(Throwable e) throws Exception {
    System.err.println(e + " " + e.getCause());
    out.writeInt(-1);
    out.flush();
  }

  private static void converse(SaslServer server) throws Exception {
    boolean sealed = !"auth".equals(server.getNegotiatedProperty(Sasl.QOP));
    while (true) {
      byte[] piece = read();
      if (piece == null) {
        return;
      }
      byte[] data = sealed ? server.unwrap(piece, 0, piece.length) : piece;
      for (int i = 0, j = data.length - 1; i < j; i++, j--) {
        byte b = data[i];
        data[i] = data[j];
        data[j] = b;
      }
      send(sealed ? server.wrap(data, 0, data.length) : data);
    }
  }

  private static byte[] read() throws Exception {
    int length = in.readInt();
    if (length < 0) {
      return null;
    }
    byte[] data = new byte[length];
    in.readFully(data);
    return data;
  }

  private static void send(byte[] data) throws Exception {
    out.writeInt(data == null ? 0 : data.length);
    if (data != null) {
      out.write(data);
    }
    out.flush();
  }
}
