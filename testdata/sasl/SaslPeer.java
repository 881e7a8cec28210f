import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.util.Map;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import javax.security.sasl.AuthorizeCallback;
import javax.security.sasl.RealmCallback;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslException;
import javax.security.sasl.SaslServer;

/**
 * The JDK's server of DIGEST-MD5, which judges a client. Messages on standard input and output stand behind their length in
 * four bytes. Once the client is logged in, each piece is opened and sealed back, reversed. A refusal is a length of -1.
 *
 * Arguments: protocol, server name, quality of protection, user name, password.
 */
public final class SaslPeer {
  public static void main(String[] args) throws Exception {
    DataInputStream in = new DataInputStream(System.in);
    DataOutputStream out = new DataOutputStream(System.out);
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
      send(out, server.evaluateResponse(new byte[0]));
      while (!server.isComplete()) {
        send(out, server.evaluateResponse(read(in)));
      }
      boolean sealed = !"auth".equals(server.getNegotiatedProperty(Sasl.QOP));
      while (true) {
        byte[] piece = read(in);
        byte[] data = sealed ? server.unwrap(piece, 0, piece.length) : piece;
        for (int i = 0, j = data.length - 1; i < j; i++, j--) {
          byte b = data[i];
          data[i] = data[j];
          data[j] = b;
        }
        send(out, sealed ? server.wrap(data, 0, data.length) : data);
      }
    } catch (EOFException e) {
      return;
    } catch (SaslException e) {
      System.err.println(e);
      out.writeInt(-1);
      out.flush();
    }
  }

  private static byte[] read(DataInputStream in) throws Exception {
    byte[] data = new byte[in.readInt()];
    in.readFully(data);
    return data;
  }

  private static void send(DataOutputStream out, byte[] data) throws Exception {
    out.writeInt(data == null ? 0 : data.length);
    if (data != null) {
      out.write(data);
    }
    out.flush();
  }
}
