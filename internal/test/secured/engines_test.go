package secured

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// TestEngines loads, compacts, loads again, undoes and replaces tables whose store engine is not the default: the loaded cells move between stripes
// or tiers, and the rows stay the same.
func TestEngines(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a test cluster, which -short leaves out")
	}
	e := small(t)[0]
	site := on(t, testcluster.Shared(t)).as(testcluster.HBaseAdmin)
	// HBase does not report the end of a major compaction of stripes.
	for engine, compacts := range map[string]bool{"StripeStoreEngine": false, "DateTieredStoreEngine": true} {
		t.Run(engine, func(t *testing.T) {
			s, table := site.at(t), "test:"+testcheck.Name(t)
			s.create(t, table, e.salts, "--versions", "3")
			// HBase's check of a table with such an engine requires it: their stores have more files.
			s.adm(t, "attribute", table, "hbase.hstore.blockingStoreFiles=60")
			s.adm(t, "attribute", table, "hbase.hstore.engine.class=org.apache.hadoop.hbase.regionserver."+engine)
			holds := func(what string) {
				t.Helper()
				if got := s.adm(t, "digest", table); got != e.digest {
					t.Errorf("%s: HBase's client sees %s, want %s", what, got, e.digest)
				}
			}
			loading := []string{"run", "--job", e.job(), "--table", table, "--input", e.input, "--progress", "off", "--output", "json"}
			s.must(t, append(loading, "--verify", "files")...)
			holds("loaded")
			if compacts {
				s.adm(t, "major-compact", table)
				holds("compacted")
			}
			var again struct{ Job string }
			testcheck.Must(t, json.Unmarshal([]byte(s.must(t, append(loading, "--restart", "--verify", "full")...).out), &again))
			holds("loaded again")
			s.must(t, "undo", "--job", filepath.Base(again.Job))
			holds("undone")
			s.must(t, append(loading, "--restart", "--replace")...)
			holds("replaced")
			if compacts {
				s.adm(t, "major-compact", table)
				holds("compacted after the replacement")
			}
			if got := s.must(t, "check", "--job", e.job(), "--table", table, "--input", e.input); !strings.Contains(got.out, engine) {
				t.Errorf("check does not name the engine:\n%s", got.out)
			}
		})
	}
}
