package profiling

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
)

// pandasJudges reads lines, a file and its profile each, and prints the differences from pandas.
const pandasJudges = `
import sys, json, pandas as pd
for line in sys.stdin:
    q = json.loads(line)
    frame = pd.read_csv(q["file"], dtype="string", keep_default_na=False)
    def differs(column, what, ours, theirs):
        if ours != theirs: print(q["file"], column, what, ours, "pandas:", theirs)
    p = q["profile"]
    differs("", "records", p["records"], len(frame))
    for c in p["columns"]:
        s = frame[c["name"]]
        nulls = int((s == "").sum())
        differs(c["name"], "nulls", c["nulls"], nulls)
        s = s[s != ""]
        differs(c["name"], "values", c["values"], len(s))
        if not len(s): continue
        distinct = int(s.nunique())
        if c.get("distinct_estimated"):
            if abs(c["distinct"] - distinct) > 4 * c["distinct_error"] * distinct: differs(c["name"], "distinct", c["distinct"], distinct)
        else: differs(c["name"], "distinct", c["distinct"], distinct)
        sizes = s.str.encode("utf-8").map(len)
        differs(c["name"], "lengths", [c["shortest"], c["longest"]], [int(sizes.min()), int(sizes.max())])
        if c["kind"] == "number":
            v = pd.to_numeric(s).astype(float)
            differs(c["name"], "range", [float(c["min"]), float(c["max"])], [v.min(), v.max()])
        elif c["kind"] == "date":
            v = pd.to_datetime(s, format="%Y-%m-%d %H:%M:%S")
            differs(c["name"], "range", [pd.Timestamp(c["min"]), pd.Timestamp(c["max"])], [v.min(), v.max()])
            v = (v - pd.Timestamp("1970-01-01")) / pd.Timedelta("1ms")
        else:
            v = sizes
            differs(c["name"], "range", [c["min"], c["max"]], [min(s), max(s)])
        bars = c["histogram"]["bars"]
        if len(bars) > 1:
            edges = [b["from"] for b in bars] + [bars[-1]["to"]]
            theirs = pd.cut(v, edges, right=False).value_counts(sort=False).tolist()
            differs(c["name"], "histogram", [b["count"] for b in bars], theirs)
        counts, error = s.value_counts(), c.get("frequent_error", 0)
        for f in c.get("frequent", []):
            n = int(counts[f["value"]])
            if not f["count"] <= n <= f["count"] + error: differs(c["name"], f["value"], f["count"], n)
        if not error: differs(c["name"], "most frequent", [f["count"] for f in c.get("frequent", [])], counts.head(10).tolist())
print("judged")
`

// TestPandas compares profiles of random files with pandas: BULKLOAD_TEST_PANDAS=1, and in BULKLOAD_DIALECTS_PYTHON a python3 that has pandas, as
// scripts/test-dialects installs it.
func TestPandas(t *testing.T) {
	if os.Getenv("BULKLOAD_TEST_PANDAS") == "" {
		t.Skip("BULKLOAD_TEST_PANDAS=1 runs it, with pandas in BULKLOAD_DIALECTS_PYTHON")
	}
	r := testcheck.Rand(t)
	var in bytes.Buffer
	for _, n := range []int{1, 2, 30, 500, 1024, 1025, 5000, 20_000, 100_000} {
		name := writeOrders(t, orders(r, n))
		p := profileOf(t, jobtest.CSVSpec(name), Options{Workers: 3, splitSize: 256 << 10}).Profile
		b, err := json.Marshal(map[string]any{"file": name, "profile": p})
		testcheck.Must(t, err)
		in.Write(append(b, '\n'))
	}
	python := exec.CommandContext(t.Context(), os.Getenv("BULKLOAD_DIALECTS_PYTHON"), "-c", pandasJudges)
	python.Stdin, python.Stderr = &in, os.Stderr
	out, err := python.Output()
	testcheck.Must(t, err)
	if string(out) != "judged\n" {
		t.Errorf("%s", out[:min(len(out), 3000)])
	}
}
