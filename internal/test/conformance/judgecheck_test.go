package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// unfelt are the damages that HBase's readers do not detect: HFileJudge need not find them; only [hfile.Check] does.
var unfelt = []string{
	"root index key's type", "intermediate index's first key", "mid key's entry", "mid key's leaf",
	"general bloom: a bit too many", "general bloom: byte size", "general bloom: key limit",
	"row-column bloom: last key", "last key of the general bloom",
	"uncompressed bytes", "uncompressed index bytes", "comparator of the trailer", "minor version",
	"length of the longest tags", "greatest sequence id", "major compaction flag of no byte", "a historical file",
	"a bulk load's time of four bytes", "a key of the file info twice", "name of a key of the file info",
	"checksum type of a block", "no checksums in a block", "bytes per checksum of a block",
	"size of a block's cells", "a cell's sequence id", "a block behind the last",
}

// TestJudgeFindsDamage checks that HFileJudge's check, which the other tests run on our files, detects damaged files.
func TestJudgeFindsDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a JVM")
	}
	java := startHBase(t, zstdModule)
	name, out := filepath.Join(t.TempDir(), "hfile"), filepath.Join(t.TempDir(), "out")
	for _, d := range damages {
		if err := os.WriteFile(name, d.file(t), 0o644); err != nil {
			t.Fatal(err)
		}
		answer, status, err := java.run("", out, "check", "--probes", "100", name)
		if err != nil {
			t.Fatal(err)
		}
		var found struct {
			OK     bool     `json:"ok"`
			Errors []string `json:"errors"`
		}
		if err := json.Unmarshal(answer, &found); err != nil {
			t.Fatal(err)
		}
		if want := slices.Contains(unfelt, d.name); found.OK != want || (status == 0) != want || (len(found.Errors) == 0) != want {
			t.Errorf("%s: status %d, %s", d.name, status, answer)
		}
	}
}
