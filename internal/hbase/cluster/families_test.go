package cluster

import (
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/setting"
)

// TestFamiliesOf checks that the error for a family that the table lacks names no setting: commands that take families from files have none.
func TestFamiliesOf(t *testing.T) {
	table := &loader.Table{Name: loader.TableName{Namespace: "default", Qualifier: "t"}, Families: []loader.Family{{Name: "f"}, {Name: "g"}}}
	_, err := FamiliesOf(nil, table, "h")
	if fail.KindOf(err) != fail.Check || !strings.Contains(err.Error(), `table t has no family "h" (families: f, g)`) || len(setting.Of(err)) > 0 {
		t.Errorf("%v, with %v", err, setting.Of(err))
	}
}

// TestFamilyOf checks that a family has the framing of ZSTD that the servers read, also one that the job does not write: delete markers go there too.
func TestFamilyOf(t *testing.T) {
	conf := &hdfsio.Conf{}
	conf.Set("hbase.io.compress.zstd.codec", "org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec", "test")
	families := []loader.Family{{Name: "f", Compression: "ZSTD"}, {Name: "g", Compression: "ZSTD"}}
	f := &Facts{Table: &loader.Table{Name: loader.TableName{Namespace: "default", Qualifier: "t"}, Families: families}}
	if err := f.addFamilies(&Env{Conf: conf}, []string{"f"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "g"} {
		if got := f.FamilyOf(name); got.Name != name || got.Compression != hfile.CompressionZSTD || got.Zstd != hfile.ZstdBlocks {
			t.Errorf("family %s: %+v", name, got)
		}
	}
}
