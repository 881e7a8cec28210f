package loader

import (
	"strings"
	"testing"

	"bulkload/pkg/hdfsio"
)

// TestRequestsThatCannotBe checks that a request with a number or a load mode that does not exist is refused before anything is done.
func TestRequestsThatCannotBe(t *testing.T) {
	whole := LoadRequest{Table: TableName{"default", "t"}, FS: hdfsio.NewMemory(), Files: []HFile{{Family: "f", Path: "/x/a", First: []byte("a"), Last: []byte("b")}}}
	if err := whole.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*LoadRequest){
		"table": func(r *LoadRequest) { r.Table = TableName{} }, "load mode": func(r *LoadRequest) { r.Stage = 9 }, "Calls": func(r *LoadRequest) { r.Calls = -1 },
		"PerServer": func(r *LoadRequest) { r.PerServer = -1 }, "MaxFiles": func(r *LoadRequest) { r.MaxFiles = -5 }, "timestamp": func(r *LoadRequest) { r.Timestamp = -4 },
	} {
		r := whole
		change(&r)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
