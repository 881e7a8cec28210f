package listing

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhere checks that conditions compare values as text, and NULL like SQL.
func TestWhere(t *testing.T) {
	values := []string{"2026-10-31", "2026-11-01", "2026-11-02", "", nullPartition, "9", "10"}
	for where, want := range map[string]string{
		"dt=2026-11-01": "2026-11-01", "dt == 2026-11-01": "2026-11-01", "dt>=2026-11-01": "2026-11-01 2026-11-02 9", "dt<2026-11-01": "2026-10-31  10", "dt<=2026-11-01": "2026-10-31 2026-11-01  10",
		"dt > 10": "2026-10-31 2026-11-01 2026-11-02 9", "dt!=9": "2026-10-31 2026-11-01 2026-11-02  10", "dt<>9": "2026-10-31 2026-11-01 2026-11-02  10",
		"dt=" + nullPartition: nullPartition, "dt!=" + nullPartition: "2026-10-31 2026-11-01 2026-11-02  9 10", "dt=": "", "dt=a=b": "", "dt=<none>": "", "dt==<9>": "", "dt!=<9>": "2026-10-31 2026-11-01 2026-11-02  9 10",
	} {
		list, err := ParseWhere([]string{where})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range values {
			c, _ := ParsePartition("dt=" + v)
			if list[0].Admits(c) {
				got = append(got, v)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", where, got)
		}
	}
	for _, bad := range []string{"", "dt", "=1", " <2", "dt!1", "dt<" + nullPartition, "dt<=>2", "dt=>2", "dt=<2", "dt>>2", "dt===2", "dt< =2", "dt=<none", "dt<=<none>", "dt><none>"} {
		if _, err := ParseWhere([]string{bad}); err == nil {
			t.Errorf("%q is a condition", bad)
		}
	}
}

// TestPrunedDirectoriesAreNotListed checks that excluded directories are not listed: one has a file that would be
// refused.
func TestPrunedDirectoriesAreNotListed(t *testing.T) {
	dir := tree(t, map[string]string{"t/dt=1/_delta_log/a": "x", "t/dt=2/a.csv": "a\n1\n"})
	wantRefused(t, "listed", openError(t, Options{}, dir, "t"), "Delta")
	for _, input := range []string{"t", "t/*", "t/**", "t/dt=*/*.csv"} {
		if err := openError(t, Options{Where: []string{"dt=2"}}, dir, input); err != nil {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// TestTablesOfOtherEnginesAreRefused checks that such tables are refused as a whole, in part, or in a parent directory.
func TestTablesOfOtherEnginesAreRefused(t *testing.T) {
	const data = "a\n1\n"
	dir := tree(t, map[string]string{"in/delta/_delta_log/0.json": "{}", "in/delta/dt=1/a.csv": data,
		"in2/ice/metadata/v1.metadata.json": "{}", "in2/ice/data/dt=1/a.csv": data, "in3/hudi/.hoodie/hoodie.properties": "x", "in3/hudi/eu/a.csv": data,
		"in4/acid/base_0000005/a.csv": data, "in5/acid/delta_0000001_0000001_0000/a.csv": data, "in6/acid/x/_orc_acid_version": "2", "in6/acid/x/a.csv": data,
		"in7/acid/delete_delta_0000001_0000001/a.csv": data, "fine/metadata/a.csv": data, "fine/base_2017/b.csv": data, "fine/delta_1_2/b.csv": data})
	for input, say := range map[string]string{
		"in": "in/delta is a Delta table", "in/delta": "Delta", "in/delta/dt=1": "Delta", "in/delta/dt=1/a.csv": "Delta", "in/*": "Delta", "in/**/*.csv": "Delta", "in/delta/dt=1/*.csv": "Delta",
		"in2": "in2/ice is an Iceberg table", "in2/ice/data": "in2/ice is an Iceberg table", "in2/ice/data/dt=1/a.csv": "Iceberg", "in2/*": "Iceberg",
		"in3": "in3/hudi is a Hudi table", "in3/hudi/eu": "Hudi", "in3/hudi/eu/a.csv": "Hudi", "in4": "transactional", "in4/acid/base_0000005": "transactional",
		"in4/acid/base_0000005/a.csv": "transactional", "in5": "transactional", "in6": "transactional", "in7": "transactional",
	} {
		wantRefused(t, input, openError(t, Options{}, dir, input), say, "SELECT")
	}
	if err := openError(t, Options{}, dir, "fine"); err != nil {
		t.Error(err)
	}
}

// FuzzPartition checks that no text causes a panic in the parsers of partitions and conditions, and that written values
// are read back.
func FuzzPartition(f *testing.F) {
	for _, s := range []string{"dt=2026-11-01", "region=a%2Fb", "r=%E5%8D%8E", "x=%", "x=%4", "=1", "_x=1", "%3D==", "dt=" + nullPartition} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, element, value string) {
		if c, ok := ParsePartition(element); ok && len(c.Name)+len(c.Value) >= len(element) {
			t.Errorf("%q: %q %q", element, c.Name, c.Value)
		}
		c, ok := ParsePartition("n=" + escapePath(value))
		if !ok || c.Null != (value == nullPartition) || !c.Null && c.Value != value {
			t.Errorf("%q became %q", value, c.Value)
		}
		if list, err := ParseWhere([]string{element}); err == nil {
			list[0].Admits(c)
		}
		if list, err := ParseWhere([]string{"n=" + strings.TrimSpace(value)}); err != nil && value != "" && strings.IndexByte("<>=", strings.TrimSpace(value)[0]) < 0 || err == nil && strings.TrimSpace(value) == value && !list[0].Admits(c) {
			t.Errorf("%q is not equal to itself: %v", value, err)
		}
	})
}

// escapePath does the same as Hive's FileUtils.escapePathName.
func escapePath(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == 0x7f || strings.IndexByte("\"#%'*/:=?\\{[]^", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
