package newkeys

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testsnapshot"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/source"
)

// keysBy returns a function that makes keys from columns by their names.
func keysBy(t testing.TB, spec string) func(columns map[string]string) string {
	t.Helper()
	e, err := keygen.Parse(spec)
	testcheck.Must(t, err)
	p, err := keygen.Compile(e, keygen.Options{})
	testcheck.Must(t, err)
	return func(columns map[string]string) string {
		var fields [][]byte
		for _, name := range p.Columns() {
			fields = append(fields, []byte(columns[name]))
		}
		key, err := p.Append(nil, fields)
		testcheck.Must(t, err)
		return string(key)
	}
}

// TestOldKeys makes new keys from columns that only the old keys contain, with several specs of both, and compares them with
// keys that are made from the columns themselves.
func TestOldKeys(t *testing.T) {
	put := testsnapshot.Put
	r := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct{ old, key string }{
		{"salt(check_id, 10) + md5hex(check_id) + id", "md5hex(id) + check_id"},
		{"id + '|' + day", "salt(day, 4) + day + '/' + id + v"},
		{"md5hex(id) + ':' + orempty(day) + '|' + id", "orempty(day) + id"},
		{"bytesalt(v, 5) + id", "id + '.' + `f:id`"},
	} {
		l := newLab(t, []string{"4", "c"}, "f", "g")
		old, made := keysBy(t, c.old), keysBy(t, c.key)
		var cells []hfile.Cell
		var want []string
		for i := range 500 {
			columns := map[string]string{"id": fmt.Sprintf("i%06d", r.IntN(1e6)*1000+i), "day": fmt.Sprint(20260000 + r.IntN(400)), "check_id": fmt.Sprint("C", r.IntN(50)), "v": fmt.Sprint("v", i), "f:id": "cell"}
			if strings.Contains(c.old, "orempty(day)") && i%3 == 0 {
				columns["day"] = ""
			}
			row := old(columns)
			cells = append(cells, put(row, "f", "v", 5, columns["v"]), put(row, "g", "check_id", 5, columns["check_id"]), put(row, "f", "id", 5, "cell"))
			want = append(want, made(columns))
		}
		l.load(cells...)
		s, p := l.open(), l.plan(c.key)
		var err error
		p.OldKey, err = keygen.Parse(c.old)
		testcheck.Must(t, err)
		m, dir, err := l.build(s, p, Options{Options: build.Options{Workers: 2}})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		var got []string
		for _, line := range l.cells(m, p, dir) {
			key, _, _ := strings.Cut(line, ` f:"v" `)
			if key != line {
				got = append(got, key)
			}
		}
		for i := range want {
			want[i] = fmt.Sprintf("%q", want[i])
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) || m.Digest.Rows != 500 || m.Rejected != 0 {
			t.Errorf("%+v: %d keys, %+v, such as %s, want %s", c, len(got), m.Digest, got[0], want[0])
		}
		if _, err := Splits(t.Context(), s, p.Key, p.OldKey, labNow, nil, Options{}); err != nil {
			t.Error(err)
		}
	}
}

// TestOldKeysThatAreNone checks that rows whose old key does not match its spec are refused, with their positions and without their values.
func TestOldKeysThatAreNone(t *testing.T) {
	put := testsnapshot.Put
	const spec = "salt(check_id, 10) + md5hex(check_id) + id"
	old := keysBy(t, spec)
	good := old(map[string]string{"check_id": "C1", "id": "first"})
	other := old(map[string]string{"check_id": "C2", "id": "second"})
	for says, cell := range map[string]hfile.Cell{
		"not one that the old key's spec makes of the row's columns": put(other, "f", "check_id", 1, "C3"),
		"the row has no column check_id":                             put(other, "f", "v", 1, "C2"),
		"cannot be parsed":                                           put("9short", "f", "check_id", 1, "C2"),
	} {
		l := newLab(t, nil, "f")
		l.load(put(good, "f", "check_id", 1, "C1"), cell)
		s, p := l.open(), l.plan("id")
		p.OldKey, _ = keygen.Parse(spec)
		_, _, err := l.build(s, p, Options{})
		if fail.KindOf(err) != fail.BadRows || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "of region "+l.Encoded("")) {
			t.Errorf("%s: %v", says, err)
		}
		for _, value := range []string{"second", "C2", "C3", "short"} {
			if strings.Contains(err.Error(), value) {
				t.Errorf("%q is in the message: %v", value, err)
			}
		}
		if got := data(err); !slices.Equal(got, []string{string(cell.Row)}) {
			t.Errorf("data %q", got)
		}
		budget, err := source.NewBudget("1")
		testcheck.Must(t, err)
		if m, _, err := l.build(s, p, Options{Options: build.Options{Budget: budget}, RejectFile: t.TempDir() + "/rejects"}); err != nil || m.Rejected != 1 || m.Digest.Rows != 1 {
			t.Errorf("%s, set aside: %v, %+v", says, err, m)
		}
	}
}

// TestOldKeysAllocate checks that nothing is allocated per row.
func TestOldKeysAllocate(t *testing.T) {
	l := newLab(t, nil, "f")
	old := keysBy(t, "salt(v, 10) + md5hex(v) + id")
	var cells []hfile.Cell
	const rows = 20_000
	for i := range rows {
		v := fmt.Sprint(uint32(i) * 2654435761)
		cells = append(cells, testsnapshot.Put(old(map[string]string{"v": v, "id": fmt.Sprintf("%06d", i)}), "f", "v", 900, v))
	}
	l.load(cells...)
	s, p := l.open(), l.plan("id + v", "3", "6")
	p.OldKey, _ = keygen.Parse("salt(v, 10) + md5hex(v) + id")
	allocations := testing.AllocsPerRun(1, func() {
		if m, _, err := l.build(s, p, Options{Options: build.Options{Workers: 1}}); err != nil || m.Digest.Rows != rows {
			t.Error(m, err)
		}
	})
	if allocations > 3000 {
		t.Errorf("%.0f allocations for %d rows", allocations, rows)
	}
}
