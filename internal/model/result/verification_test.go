package result

import "testing"

// TestFilesText checks the number of files that are reported as present in the stores, without compacted ones.
func TestFilesText(t *testing.T) {
	v := &Verification{Mode: "files", Sampled: 40, Files: &StoreFiles{Files: 3}}
	v = (*Verification)(nil).Add(v).Add(&Verification{Mode: "files", Sampled: 2, Files: &StoreFiles{Files: 1, Compacted: 1, Others: 2}})
	if *v.Files != (StoreFiles{Files: 4, Compacted: 1, Others: 2}) {
		t.Errorf("of several tables: %+v", *v.Files)
	}
	for want, f := range map[string]*StoreFiles{
		"4 HFiles are in the table's stores with the checksums that were written, 42 sampled rows are as written":                                                                                         {Files: 4},
		"3 HFiles are in the table's stores with the checksums that were written; 1 of 4 HFiles were compacted before the check; only sampled rows of them were compared: 42 sampled rows are as written": v.Files,
		"4 of 4 HFiles were compacted before the check; only sampled rows of them were compared: 42 sampled rows are as written":                                                                          {Files: 4, Compacted: 4},
	} {
		if got := (&Verification{Mode: "files", Sampled: 42, Files: f}).Text(); got != want {
			t.Errorf("%+v:\n%s, want\n%s", *f, got, want)
		}
	}
}
