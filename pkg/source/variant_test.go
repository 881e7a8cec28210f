package source

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestVariantFiles reads Spark's VARIANTs, as values and shredded into columns, and compares them with Spark's to_json.
func TestVariantFiles(t *testing.T) {
	paths, err := filepath.Glob(parquetDir + "/variant/*.parquet")
	if err != nil || len(paths) < 6 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			texts := strings.TrimSuffix(path, ".parquet") + ".jsonl"
			shredded := strings.Contains(path, "shredded-") // the same rows without one column
			if shredded {
				texts = filepath.Dir(path) + "/plain.jsonl"
			}
			columns, want := expectedTexts(t, texts)
			if shredded {
				columns = columns[:3]
			}
			got, err := chosenRows(t, Options{Columns: columns}, path)
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, columns, got, want)
		})
	}
	if _, err := chosenRows(t, Options{Columns: []string{"v.value"}}, parquetDir+"/variant/plain.parquet"); err == nil {
		t.Error("a part of a VARIANT is read")
	}
}
