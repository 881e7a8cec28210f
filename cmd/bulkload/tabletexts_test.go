package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/hbase/table"
	"bulkload/internal/test/testcheck"
)

// TestTableCommandsSpeakOfFlags checks that errors about the values of the commands for tables say what is wanted, in place of the texts of Go's
// library or the names of fields.
func TestTableCommandsSpeakOfFlags(t *testing.T) {
	csv := filepath.Join(t.TempDir(), "s.csv")
	testcheck.Must(t, os.WriteFile(csv, []byte("id,v\n"), 0o600))
	family := func(text string) error {
		_, err := new(createOptions).family(text)
		return err
	}
	sizes := func(o adviseOptions) error { return o.sizes(t.Context(), &table.AdviceOptions{}) }
	for _, c := range []struct {
		err  error
		want string
	}{
		{family("log:ttl=1d"), `log, setting ttl: "1d" is not a number of seconds`},
		{family("log:versions=x"), `log, setting versions: "x" is not a whole number`},
		{sizes(adviseOptions{plan: csv}), "it is not the JSON of bulkload plan"},
		{sizes(adviseOptions{}), "give --bytes, --plan, or --rows and --row-bytes"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) || strings.Contains(c.err.Error(), "strconv") {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
}
