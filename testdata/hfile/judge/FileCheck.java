// FileCheck finds what is wrong with an HFile: by its bytes (FileLayout), and by what HBase's reader says of its cells. What it
// reports has the names that `bulkload hfile check --output json` has.

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.io.hfile.BlockType;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hbase.thirdparty.com.google.gson.GsonBuilder;

class FileCheck {
  private static final int LISTED_ERRORS = 10;

  private final String file;
  private final int probes;
  private final Map<String, Object> report = new LinkedHashMap<>();
  private final List<String> errors = new ArrayList<>();
  private FileLayout.Filter filter; // the general one; null without

  FileCheck(String file, int probes) {
    this.file = file;
    this.probes = probes;
  }

  /** Says whether nothing is wrong. */
  boolean run() {
    report.put("file", file);
    try {
      layout();
      reader();
    } catch (Throwable e) { // an Error too: damage makes readers throw anything
      error(e.toString());
    }
    return errors.isEmpty();
  }

  String json() {
    report.put("ok", errors.isEmpty());
    report.put("errors", errors.subList(0, Math.min(errors.size(), LISTED_ERRORS)));
    return new GsonBuilder().disableHtmlEscaping().create().toJson(report);
  }

  private void error(String what) { errors.add(what); }

  /** Checksums, the chains of blocks of one type, and the index against the data blocks. */
  private void layout() throws Exception {
    try (FileLayout layout = new FileLayout(file)) {
      Map<String, Integer> types = new TreeMap<>();
      Map<BlockType, Long> latest = new LinkedHashMap<>();
      List<FileLayout.Head> data = new ArrayList<>();
      for (FileLayout.Head h : layout.heads) {
        FileLayout.Block b = layout.block(h);
        types.merge(h.type().name(), 1, Integer::sum);
        if (b.sums().equals("FAIL")) error("checksum of the block at " + h.offset());
        Long previous = latest.put(h.type(), h.offset());
        if (h.previous() != (previous == null ? -1 : previous)) error("previous block of the block at " + h.offset());
        if (h.type() == BlockType.DATA || h.type() == BlockType.ENCODED_DATA) data.add(h);
        if (h.type() == BlockType.GENERAL_BLOOM_META) filter = FileLayout.filter(b.payload());
      }
      index(layout, data);
      report.put("blocks", layout.heads.size());
      report.put("data_blocks", data.size());
      report.put("index_levels", layout.trailer.getNumDataIndexLevels());
      report.put("compression", layout.compression.name());
      report.put("version", layout.major + "." + layout.minor);
      StringBuilder counts = new StringBuilder();
      types.forEach((type, n) -> counts.append(counts.length() > 0 ? " " : "").append(type).append('=').append(n));
      report.put("block_types", counts.toString());
    }
  }

  private void index(FileLayout layout, List<FileLayout.Head> data) throws Exception {
    List<FileLayout.Entry> entries = layout.dataEntries();
    if (entries.size() != data.size()) {
      error("the index has " + entries.size() + " entries for " + data.size() + " data blocks");
      return;
    }
    for (int i = 0; i < data.size(); i++) {
      FileLayout.Head h = data.get(i);
      if (entries.get(i).offset() != h.offset() || entries.get(i).size() != h.size()) {
        error("index entry " + i + " is not that of the data block at " + h.offset());
        return;
      }
    }
  }

  /** All that HBase's reader gives, held against what the file says of its cells. */
  private void reader() throws Exception {
    Configuration conf = CellLines.configuration();
    long failuresBefore = HFile.getChecksumFailuresCount();
    try (HFile.Reader reader = CellLines.open(conf, file)) {
      CellFacts facts = new CellFacts(this::error);
      FilterCheck filters = new FilterCheck(reader, this::error);
      HFileScanner scanner = reader.getScanner(conf, false, false, false);
      for (boolean more = scanner.seekTo(); more; more = scanner.next()) {
        filters.take(facts.take(scanner.getCell()));
      }
      report.put("entries", facts.cells);
      report.put("duplicate_keys", facts.duplicates);
      facts.compare(reader);
      report.put("bloom", filters.type.name());
      if (filters.general != null) report.put("bloom_keys", filters.keys);
      report.put("delete_family_bloom", filters.deletes != null);
      filters.compare();
      boolean ofKeys = filters.type == BloomType.ROW || filters.type == BloomType.ROWCOL; // absent rows may have prefixes that are there
      if (filters.general != null && ofKeys && probes > 0 && !facts.sample.isEmpty()) {
        report.put("bloom_fp_rate", filters.probe(filter, facts.sample, probes));
      }
      report.put("seeks", facts.sample.size());
      int wrong = facts.seek(reader, conf);
      if (wrong > 0) error(wrong + " seeks went wrong");
    }
    long failures = HFile.getChecksumFailuresCount() - failuresBefore;
    report.put("reader_checksum_failures", failures);
    if (failures > 0) error(failures + " checksum failures in HBase's reader");
  }
}
