package source

import (
	"fmt"
	"strings"
	"testing"

	"bulkload/pkg/source/dialect"

	"github.com/google/go-cmp/cmp"
)

// TestColumnsOlderFilesLack reads Hive's text files that lack the last columns of their table, together with newer files. The columns are NULL by
// default, and for other text without a header with missing null. All records of a file have as many values as the first one, so a line feed in a
// value is an error; a single value in all records means that the separator is wrong.
func TestColumnsOlderFilesLack(t *testing.T) {
	abc := []string{"a", "b", "c"}
	hive := func(text string) string { return strings.ReplaceAll(text, "|", "\x01") }
	for _, tt := range []struct {
		name, dialect string
		o             Options
		files         []string
		want          []string // - is NULL
		err           string
	}{
		{name: "old and new", dialect: "hive", files: []string{"1|2\n3|4\n", "5|6|7\n"}, want: []string{"1/2/-", "3/4/-", "5/6/7"}},
		{name: "escaped", dialect: "hive-escaped", files: []string{"1|2\\|x\n", "5|6|7\n"}, want: []string{"1/2\x01x/-", "5/6/7"}},
		{name: "with a partition", dialect: "hive", o: Options{Columns: []string{"dt", "a", "b", "c"}}, files: []string{"dt=1:1|2\n", "dt=2:5|6|7\n"}, want: []string{"1/1/2/-", "2/5/6/7"}},
		{name: "fail", dialect: "hive", o: Options{Missing: MissingFail}, files: []string{"1|2\n"}, err: "record 1 at byte 0: 2 columns found, 3 expected"},
		{name: "MySQL", dialect: "mysql", files: []string{"1\t2\n"}, err: "record 1 at byte 0: 2 columns found, 3 expected"},
		{name: "MySQL, null", dialect: "mysql", o: Options{Missing: MissingNull}, files: []string{"1\t2\n", "5\t6\t7\n"}, want: []string{"1/2/-", "5/6/7"}},
		{name: "one value", dialect: "hive", files: []string{"1,2,3\n"}, err: "record 1 at byte 0: 1 column found, 3 expected"},
		{name: "one value, null", dialect: "hive", o: Options{Missing: MissingNull}, files: []string{"1,2,3\n"}, err: "record 1 at byte 0: 1 column found, 3 expected"},
		{name: "more values", dialect: "hive", files: []string{"1|2|3|4\n"}, err: "record 1 at byte 0: 4 columns found, 3 expected"},
		{name: "later record is short", dialect: "hive", files: []string{"1|2|3\n4|5\n"}, err: "record 2 at byte 6: 2 columns found, 3 expected"},
		{name: "first record is short", dialect: "hive", files: []string{"1|2\n4|5|6\n"}, err: "record 2 at byte 4: 3 columns found, 2 expected"},
		{name: "line feed in a value", dialect: "hive", files: []string{"1|x\ny|3\n4|5|6\n"}, err: "record 3 at byte 8: 3 columns found, 2 expected"},
		{name: "header", dialect: "hive", files: []string{"a|b\n1|2\n"}, want: []string{"!it is", "1/2/-"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, inputs := map[string]string{}, []string{}
			for i, text := range tt.files {
				name := fmt.Sprintf("part-%d", i)
				if dir, rest, ok := strings.Cut(text, ":"); ok {
					name, text = dir+"/"+name, rest
				}
				files[name] = hive(text)
				inputs = append(inputs, name)
			}
			dir := tree(t, files)
			for i := range inputs {
				inputs[i] = dir + "/" + inputs[i]
			}
			for _, size := range []int64{0, 1, 3, 5} {
				o := tt.o
				o.SplitSize, o.Dialect = size, dialectOf(t, tt.dialect, func(*dialect.Dialect) {})
				if o.Columns == nil {
					o.Columns = abc
				}
				var got []string
				if tt.err == "" {
					o.Reject = func(e RowError) error {
						got = append(got, "!"+strings.Join(strings.Fields(e.Reason)[:2], " "))
						return nil
					}
				}
				in, err := Open(t.Context(), disk, inputs, o)
				if err == nil {
					err = showRows(t, in, &got)
				}
				if tt.err != "" {
					if err == nil || !strings.Contains(err.Error(), tt.err) {
						t.Fatalf("splits of %d: error %v, want %s", size, err, tt.err)
					}
					continue
				}
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Fatalf("splits of %d (-want +got):\n%s%v", size, diff, err)
				}
				if tt.want[0] == "1/2/-" && cmp.Diff([]string{"c"}, in.Files()[0].Missing) != "" {
					t.Errorf("the first file lacks %v", in.Files()[0].Missing)
				}
			}
		})
	}
}
