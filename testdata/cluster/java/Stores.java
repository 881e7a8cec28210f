// Stores makes JKS and PKCS12 of the PEM files in a directory: a private key with its certificates, or
// certificates to trust alone.

import java.io.ByteArrayInputStream;
import java.io.OutputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public final class Stores {
  private static final Pattern BLOCK = Pattern.compile("-----BEGIN ([A-Z ]+)-----([^-]+)-----END");

  public static void main(String[] args) throws Exception {
    char[] password = args[1].toCharArray();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(args[0]), "*.pem")) {
      for (Path file : files) {
        String name = file.getFileName().toString().replace(".pem", "");
        PrivateKey key = null;
        List<Certificate> chain = new ArrayList<>();
        Matcher m = BLOCK.matcher(Files.readString(file));
        while (m.find()) {
          byte[] der = Base64.getMimeDecoder().decode(m.group(2));
          if (m.group(1).equals("PRIVATE KEY")) {
            key = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der));
          } else {
            chain.add(CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der)));
          }
        }
        for (String[] form : new String[][] {{"JKS", ".jks"}, {"PKCS12", ".p12"}}) {
          KeyStore store = KeyStore.getInstance(form[0]);
          store.load(null, password);
          if (key != null) {
            store.setKeyEntry(name, key, password, chain.toArray(new Certificate[0]));
          } else {
            store.setCertificateEntry(name, chain.get(0));
          }
          try (OutputStream out = Files.newOutputStream(file.resolveSibling(name + form[1]))) {
            store.store(out, password);
          }
        }
      }
    }
  }
}
