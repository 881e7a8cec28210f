package job

import (
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/engine/history"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// TestLoadOfOtherSalts checks that files are refused whose keys have salts of another modulus than the table is split for, unless the build states it.
func TestLoadOfOtherSalts(t *testing.T) {
	salts := partition.SaltSplits
	for _, c := range []struct {
		name    string
		m       *manifest.Manifest
		splits  [][]byte
		refused string
	}{
		{"one region for ten", &manifest.Manifest{Key: "salt(id) + id", Modulus: 1}, salts(10), "the keys in dir have 1 salt, and table t is split for 10: build again, with the number that its readers use as `salt_buckets`"},
		{"four for ten", &manifest.Manifest{Key: "salt(id) + id", Modulus: 4}, salts(10), "the keys in dir have 4 salts, and table t is split for 10: build again, with the number that its readers use as `salt_buckets`"},
		{"ten for one region", &manifest.Manifest{Key: "salt(id) + id", Modulus: 10}, nil, "the keys in dir have 10 salts, and table t is split for 1: build again, with the number that its readers use as `salt_buckets`"},
		{"ten for texts", &manifest.Manifest{Key: "salt(id) + id", Modulus: 10}, [][]byte{[]byte("m")}, "the keys in dir have 10 salts, and table t is not split by salt: build again, with the number that its readers use as `salt_buckets`"},
		{"bytes for digits", &manifest.Manifest{Key: "bytesalt(id) + id", Modulus: 10}, salts(10), "the keys in dir have 10 salts, and table t is not split by bytesalt: build again, with the number that its readers use as `salt_buckets`"},
		{"ten for ten, one of them split", &manifest.Manifest{Key: "salt(id) + id", Modulus: 10}, append(salts(10), []byte("95")), ""},
		{"one for one", &manifest.Manifest{Key: "salt(id) + id", Modulus: 1}, nil, ""},
		{"one, as stated", &manifest.Manifest{Key: "salt(id) + id", Modulus: 1, SaltBuckets: 1}, salts(10), ""},
		{"salts of the key", &manifest.Manifest{Key: "salt(id, 4) + id", Modulus: 1}, salts(10), ""},
		{"no salt", &manifest.Manifest{Key: "id", Modulus: 1}, salts(10), ""},
		{"no manifest", nil, salts(10), ""},
	} {
		d := &dirLoad{run: run{facts: &cluster.Facts{Splits: c.splits}, result: &result.Result{Table: "t"}}, given: "dir", manifest: c.m}
		err := d.sameSalt(d.facts.Splits)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || err.Error() != c.refused || fail.KindOf(err) != fail.Check) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestStartOfResumedLoad checks that a load that is resumed, or done, counts the files that it began with, though the directory has them no more.
func TestStartOfResumedLoad(t *testing.T) {
	h := history.New()
	h.Plan = &history.PlanRecord{Inputs: []history.InputRecord{{Size: 300}}}
	cut := "hdfs://nn/dir/_loading-" + strings.Repeat("1", 12)
	for _, file := range []string{"hdfs://nn/dir/f/a", "hdfs://nn/dir/g/b.r1", cut + "/f/c", cut + "/f/d", "hdfs://nn/tmp/markers/f/e"} {
		h.Leaves[file] = loader.HFile{Path: file}
	}
	h.Replaced = []string{"hdfs://nn/dir/f/z"}
	d := &dirLoad{run: run{job: &checkpoint.Job{History: h}}, at: hdfsio.Location{Authority: "nn", Path: "/dir"}}
	if s := d.start("t"); s.Files != 3 || s.Bytes != 300 {
		t.Errorf("a load that began with 3 files of 300 bytes has %d of %d", s.Files, s.Bytes)
	}
}
