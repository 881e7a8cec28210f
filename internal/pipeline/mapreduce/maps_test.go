package mapreduce

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/share"
	"bulkload/internal/test/jobtest"
	"bulkload/pkg/hdfsio"
)

// TestAttemptsOfAMap checks that of several finished attempts of one map, as after the loss of a node or of the ApplicationMaster, the last
// is used, with its bad records, and that attempts that have read something else end the job.
func TestAttemptsOfAMap(t *testing.T) {
	s := jobtest.CSVSpec(bad(t, false))
	s.BadRecords = "9"
	p := newPiped(t, s, [][]byte{[]byte("k04")}, 2, 1)
	lines := strings.SplitAfter(string(p.work.items()), "\n")
	for _, a := range []struct{ number, try int }{{0, 0}, {0, 1}} {
		if _, _, err := p.attempt("m", a.number, a.try, []byte(lines[a.number])); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := readMaps(t.Context(), hdfsio.Local{}, p.dir, p.work); !errors.Is(err, errNoMap) {
		t.Errorf("the second map has not run: %v", err)
	}
	if _, _, err := p.attempt("m", 1, 1000, []byte(lines[1])); err != nil {
		t.Fatal(err)
	}
	all, err := readMaps(t.Context(), hdfsio.Local{}, p.dir, p.work)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"m_000000_1", "m_000001_1000"} {
		if !strings.HasSuffix(all[i].Attempt, want) {
			t.Errorf("map %d: %s is taken, want %s", i, all[i].Attempt, want)
		}
	}
	rejects := filepath.Join(t.TempDir(), "rejects.jsonl")
	if some, err := joinRejects(t.Context(), hdfsio.Local{}, p.dir, all, func(m *MapDone) string { return m.Rejects }, rejects); err != nil || !some {
		t.Fatal(some, err)
	}
	b, err := os.ReadFile(rejects)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n < 9 {
		t.Errorf("%d lines of 9 bad records", n)
	}

	other := *all[0]
	other.Records++
	text, err := share.Seal(&other, &other.Checksum)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, mapsName, mapFile(other.Attempt)), text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = readMaps(t.Context(), hdfsio.Local{}, p.dir, p.work)
	if fail.KindOf(err) != fail.Input || !strings.Contains(err.Error(), "have read other rows") {
		t.Errorf("attempts that differ: %v", err)
	}
}

// TestFamiliesOfMaps checks that maps that have a column of the new key in different families end the job, and that maps of an earlier version,
// which did not record the family, do too.
func TestFamiliesOfMaps(t *testing.T) {
	p := &share.Plan{NewKeys: &share.NewKeys{Key: "salt(id, 32) + id"}, Families: []spec.Family{{Name: "f"}, {Name: "g"}}}
	read := func(families map[string]string) *MapDone {
		d := &MapDone{}
		d.Records, d.KeyFamilies = 1, families
		return d
	}
	f, g := map[string]string{"id": "f"}, map[string]string{"id": "g"}
	for _, c := range []struct {
		maps []*MapDone
		kind fail.Kind
		want string
	}{
		{[]*MapDone{read(f), read(map[string]string{}), read(f)}, 0, ""},
		{[]*MapDone{read(f), read(map[string]string{}), read(g)}, fail.Config, "id is in the families f and g"},
		{[]*MapDone{read(f), read(nil)}, fail.Check, "not recorded the family of column id"},
		{[]*MapDone{read(f), read(nil), read(g)}, fail.Config, "id is in the families f and g"},
		{[]*MapDone{read(nil), {}}, 0, ""},
	} {
		if err := p.Judge(parts(c.maps)); c.want == "" && err != nil || c.want != "" && (fail.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v", c.want, err)
		}
	}
	if none := read(nil); !none.agrees(read(f)) || read(f).agrees(read(g)) || !read(f).agrees(read(f)) {
		t.Error("attempts with other families")
	}
}
