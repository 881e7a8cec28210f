package ending

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/model/manifest"
	"bulkload/internal/model/result"
)

// TestErrorText checks that a result stays small, whatever the length of an error.
func TestErrorText(t *testing.T) {
	for _, s := range []string{strings.Repeat("ä", 5000), strings.Repeat("\xffa", 4000), strings.Repeat("x", 3999) + "日本"} {
		if got := errorText(errors.New(s)); len(got) > maxError+4 || !strings.HasSuffix(got, "…") || strings.ContainsRune(strings.TrimSuffix(got, " …"), '\x00') {
			t.Errorf("%d bytes: …%q", len(got), got[len(got)-10:])
		}
	}
	if errorText(nil) != "" || errorText(ErrAlready) != "" {
		t.Error("no error has a text")
	}
}

// TestSummaryOfLeftOut checks that the last line of a run has the rows that were left out.
func TestSummaryOfLeftOut(t *testing.T) {
	for _, c := range []struct {
		m    manifest.Manifest
		want string
	}{
		{manifest.Manifest{NoCells: 1}, "; 1 row has no value that makes a cell: left out"},
		{manifest.Manifest{NoCells: 2, Duplicates: 1}, "; 1 row left out because another row has the same key; 2 rows have no value that makes a cell: left out"},
		{manifest.Manifest{Duplicates: 1, Wide: true}, "; 1 cell left out because another cell has the same key"},
	} {
		o := Outcome{Result: &result.Result{Manifest: &c.m}}
		if got := o.summary(); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, want …%s", got, c.want)
		}
	}
}
