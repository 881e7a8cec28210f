package source

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bulkload/internal/test/testcheck"

	"google.golang.org/protobuf/encoding/protowire"
)

// orcStripe returns a stripe that has the streams, and the footer that describes them.
func orcStripe(columns int, streams ...orcStream) (stripe, footer []byte) {
	for _, s := range streams {
		var m []byte
		for field, v := range []int{s.kind, s.column, len(s.data)} {
			m = protowire.AppendVarint(protowire.AppendTag(m, protowire.Number(field+1), protowire.VarintType), uint64(v))
		}
		footer = protowire.AppendBytes(protowire.AppendTag(footer, 1, protowire.BytesType), m)
		stripe = append(stripe, s.data...)
	}
	for range columns {
		footer = protowire.AppendBytes(protowire.AppendTag(footer, 2, protowire.BytesType), nil)
	}
	return stripe, footer
}

type orcStream struct {
	column, kind int // kinds: 0 present, 1 data, 2 length
	data         []byte
}

// TestORCUnions checks that a union at the top is the text of its branch, and NULL if its branch is.
func TestORCUnions(t *testing.T) {
	stripe, footer := orcStripe(7,
		orcStream{1, 1, []byte{0xf9, 2, 4, 6, 8, 10, 12, 14}},          // seven numbers
		orcStream{2, 0, []byte{0xff, 0b11110110}},                      // the fifth row is NULL
		orcStream{2, 1, []byte{0xfa, 0, 0, 1, 1, 2, 1}},                // six branches
		orcStream{3, 0, []byte{0xff, 0b10000000}},                      // the second number is NULL
		orcStream{3, 1, []byte{0xff, 18}},                              // 9
		orcStream{4, 1, []byte(`a"b`)},                                 // three texts, and two are empty
		orcStream{4, 2, []byte{0xfd, 3, 0, 0}},                         // lengths
		orcStream{5, 0, []byte{0xff, 0b10000000}},                      // the list is there
		orcStream{5, 2, []byte{0xff, 2}},                               // and has two texts
		orcStream{6, 0, []byte{0xff, 0b10000000}},                      // and the second is NULL
		orcStream{6, 1, []byte("x")}, orcStream{6, 2, []byte{0xff, 1}}, // x
	)
	data := orcFile(0, 7, stripe, footer, nil, orcType(12, 1, 2, "id", "u"), orcType(4), orcType(13, 3, 4, 5), orcType(3), orcType(7), orcType(10, 6), orcType(7))
	in, err := Open(t.Context(), disk, []string{writeFile(t, "unions.orc", data)}, Options{})
	testcheck.Must(t, err)
	var got []string
	testcheck.Must(t, showRows(t, in, &got))
	if want := []string{"1/9", "2/-", `3/a"b`, "4/", `5/-`, `6/["x",null]`, "7/"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestORCOfHiveWithoutRows checks that a file of no columns and no rows, which Hive writes for a bucket or a reducer without rows, is a file without
// records.
func TestORCOfHiveWithoutRows(t *testing.T) {
	stripe, footer := orcStripe(2, orcStream{1, 1, []byte{0xfe, 2, 4}})
	none, some := orcFile(0, 0, nil, nil, nil, orcType(12)), orcFile(0, 2, stripe, footer, nil, orcType(12, 1, "id"), orcType(4))
	files := func(dir string, all ...[]byte) string {
		top := t.TempDir()
		testcheck.Must(t, os.Mkdir(filepath.Join(top, dir), 0o755))
		for i, data := range all {
			testcheck.Must(t, os.WriteFile(filepath.Join(top, dir, "00000"+string(rune('0'+i))+"_0.orc"), data, 0o644))
		}
		return top
	}
	for _, tt := range []struct {
		dir, input string
		o          Options
		want       []string
	}{
		{"d", files("d", none, some, none), Options{}, []string{"1", "2"}},
		{"d", files("d", some, none), Options{Columns: []string{"id"}}, []string{"1", "2"}},
		{"d", files("d", none, some), Options{Columns: []string{"id", "x"}, Missing: MissingNull}, []string{"1/-", "2/-"}},
		{"d", files("d", none, some), Options{Missing: MissingNull}, []string{"1", "2"}},
		{"dt=5", files("dt=5", none, some, none), Options{}, []string{"1/5", "2/5"}},
		{"dt=5", files("dt=5", none, some, none), Options{Columns: []string{"dt", "id"}}, []string{"5/1", "5/2"}},
		{"d", files("d", none, none), Options{AllowEmpty: true}, nil},
		{"d", files("d", none), Options{AllowEmpty: true, Columns: []string{"id"}}, nil},
		{"dt=5", files("dt=5", none), Options{AllowEmpty: true, Columns: []string{"id", "dt"}}, nil},
	} {
		in, err := Open(t.Context(), disk, []string{tt.input}, tt.o)
		if err != nil {
			t.Errorf("%s, %+v: %v", tt.dir, tt.o, err)
			continue
		}
		var got []string
		if err := showRows(t, in, &got); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s, %+v: %q, %v, want %q", tt.dir, tt.o, got, err, tt.want)
		}
		again, err := Open(t.Context(), disk, []string{tt.input}, Options{Splits: in.Splits(), Columns: in.Columns(), Missing: tt.o.Missing, AllowEmpty: tt.o.AllowEmpty})
		if err != nil || !slices.Equal(again.Splits(), in.Splits()) {
			t.Errorf("%s, %+v, again: %v", tt.dir, tt.o, err)
		}
	}
}
