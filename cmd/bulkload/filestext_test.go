package main

import (
	"strings"
	"testing"

	"bulkload/pkg/result"
)

// TestFilesText says what was compared, and of what little can be said.
func TestFilesText(t *testing.T) {
	v := &result.Verification{Mode: "files", Sampled: 40, Files: &result.StoreFiles{Files: 3}}
	v = (*result.Verification)(nil).Add(v).Add(&result.Verification{Mode: "files", Sampled: 2, Files: &result.StoreFiles{Files: 1, Compacted: 1, Others: 2}})
	if *v.Files != (result.StoreFiles{Files: 4, Compacted: 1, Others: 2}) {
		t.Errorf("the sum is %+v", v.Files)
	}
	got := verifyText(v)
	for _, want := range []string{"4 HFiles lie in the stores", "42 sampled rows", "1 of the files were compacted since"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	if got := filesText(&result.Verification{Files: &result.StoreFiles{Files: 2}}); strings.Contains(got, "compacted") {
		t.Errorf("%q", got)
	}
}
