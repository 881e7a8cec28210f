// ReadOnlyObserver: what a cluster with hbase.global.readonly.enabled says to bulk loads (ReadOnlyController, HBASE-29081), for one table. The
// argument "in" of the coprocessor is the call that it refuses: prepare or cleanup.

import java.io.IOException;
import java.util.Optional;
import org.apache.hadoop.hbase.coprocessor.BulkLoadObserver;
import org.apache.hadoop.hbase.coprocessor.ObserverContext;
import org.apache.hadoop.hbase.coprocessor.RegionCoprocessor;
import org.apache.hadoop.hbase.coprocessor.RegionCoprocessorEnvironment;

public final class ReadOnlyObserver implements RegionCoprocessor, BulkLoadObserver {
  @Override public Optional<BulkLoadObserver> getBulkLoadObserver() {
    return Optional.of(this);
  }

  @Override public void prePrepareBulkLoad(ObserverContext<RegionCoprocessorEnvironment> c) throws IOException {
    refuse(c, "prepare");
  }

  @Override public void preCleanupBulkLoad(ObserverContext<RegionCoprocessorEnvironment> c) throws IOException {
    refuse(c, "cleanup");
  }

  private static void refuse(ObserverContext<RegionCoprocessorEnvironment> c, String call) throws IOException {
    if (call.equals(c.getEnvironment().getConfiguration().get("in"))) {
      throw new IOException("Operation not allowed in Read-Only Mode");
    }
  }
}
