// SourceAddress makes sockets that call from the address of dfs.datanode.hostname: a NameNode knows each DataNode by the address that it
// calls from, which is 127.0.0.1 for all of one machine otherwise.

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import org.apache.hadoop.net.StandardSocketFactory;

public final class SourceAddress extends StandardSocketFactory {
  private static final String HOST = System.getProperty("bulkload.source");

  @Override
  public Socket createSocket() throws IOException {
    Socket socket = super.createSocket();
    socket.bind(new InetSocketAddress(HOST, 0));
    return socket;
  }
}
