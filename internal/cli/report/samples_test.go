package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/engine/history"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/model/result"
)

var noon = time.Date(2017, 10, 12, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

// goodReport returns the report of a run without problems.
func goodReport() *document {
	r := &document{
		Object: ending.Object{Command: "run", Status: "done", Table: "test:check", Job: "/var/lib/bulkload/test_check-0123456789ab", JobID: "scheduled__2017-10-12",
			Attempt: 2, Version: "v1.2.3", Host: "loader-1", PID: 4711, Began: noon, Ended: after(34.8), Rejected: 3},
		Key:       "salt(check_id) + md5hex(check_id) + id",
		Timestamp: noon.UnixMilli(), Target: "hdfs://nn:8020/tmp/bulkload-tina/test_check-1",
		Inputs:     []progress.InputFile{{Path: "hdfs://nn:8020/user/tina/check/20171012/part-00000.csv", Bytes: 104_857_600}, {Path: "hdfs://nn:8020/user/tina/check/20171012/part-00001.csv", Bytes: 105_082_124}},
		InputFiles: 2, InputBytes: 209_939_724,
		Counts: &manifest.Manifest{Records: 1_000_003, Digest: manifest.Digest{Rows: 999_997, Cells: 14_467_246}, Rejected: 3, Filtered: 1, Duplicates: 2, DuplicatesFile: "/var/lib/bulkload/duplicates.jsonl", HFiles: 10, Bytes: 169_156_387, SpillBytes: 88_080_384, Runs: 7},
		Phases: []progress.PhaseProgress{{Name: "read", Began: after(0.4), Ended: after(3.3), Done: progress.Amount{Rows: 1_000_003, Bytes: 209_939_540}}, {Name: "sort", Began: after(3.3), Ended: after(4.2)},
			{Name: "write", Began: after(4.2), Ended: after(11.1), Done: progress.Amount{Rows: 1_000_000}}, {Name: "load", Began: after(11.1), Ended: after(11.3), Done: progress.Amount{Files: 10}},
			{Name: "verify", Began: after(11.3), Ended: after(34.8), Done: progress.Amount{Rows: 1_000_000}}},
		Tasks: &taskList{Text: "application_1700000000000_0007: 2 maps and 1 reduces, 105.1 MiB shuffled, 1 attempt failed and was made again.",
			First: []result.Task{{Kind: "map", Number: 1, Attempts: 2, Node: "node-17.example", Rows: 500_003, Bytes: 105_082_124, Rejected: 3, Shuffled: 55_000_000, Wall: 41 * time.Second, Straggler: true}, {Kind: "map", Number: 0, Attempts: 1, Node: "node-18.example", Rows: 500_000, Bytes: 104_857_600, Rejected: 0, Shuffled: 55_200_000, Wall: 9 * time.Second, Straggler: false}},
			Rest:  []result.Task{{Kind: "reduce", Number: 0, Attempts: 1, Node: "node-18.example", Rows: 1_000_000, Bytes: 169_156_387, Rejected: 0, Shuffled: 110_200_000, Wall: 7 * time.Second, Straggler: false}}},
		Tables: []result.Table{{Table: "test:check_by_rule", Manifest: &manifest.Manifest{Digest: manifest.Digest{Rows: 1_000_000, Cells: 2_000_000}, HFiles: 4, Bytes: 40_000_000}, Regions: 4, LoadTime: 90 * time.Millisecond, Verify: &result.Verification{Mode: "sample", Sampled: 12}},
			{Table: "test:check_by_date", Index: "by_date", Manifest: &manifest.Manifest{Digest: manifest.Digest{Rows: 1_000_000, Cells: 2_000_000}, HFiles: 3, Bytes: 50_000_000}, Regions: 3, LoadTime: 80 * time.Millisecond, Verify: &result.Verification{Mode: "sample", Sampled: 12}}},
		Load:       &loadCounts{Regions: 10, Files: 10, Took: 217 * time.Millisecond, Servers: []server{{"rs-1.example:16020", 5, 5}, {"rs-2.example:16020", 5, 5}}},
		Verify:     "the table has 1000000 rows, 14467246 cells with this job's timestamp",
		RejectFile: "/var/lib/bulkload/rejects.jsonl",
		Rejects: []reject{{Place: "part-00000.csv: record 17 at byte 2301", Reason: "it has 17 fields, not 18"},
			{Place: "part-00001.csv: record 9 at byte 801", Column: "create_date", Reason: `"…" is not a date`}},
		Warnings:   []string{"the job's settings override the table's table={f SNAPPY} job={f ZSTD}"},
		ReadAs:     []string{`2 files: dump.gz: field_sep=\x01 record_sep=\x10`, `1 files: text, dialect mysql: field_sep=\t record_sep=\n escape=\ escape_map=mysql null='\N' header=no charset=gbk`},
		Partitions: "dt, region where dt>=2026-11-01", Lacking: []differingFiles{{"opinin, create_by", 2, "part-00000.csv, part-00002.csv"}}, MoreLacking: 1,
		PassedOver: []differingFiles{{"note", 1, "part-00001.csv"}},
		Settings:   []settings.Setting{{Name: "columns", Value: "id,check_id,rule_no,index_value,rule_type,hit_condition,rule_desc,hit_ind,artificial_ver_result,cause_code,opinin,create_by,create_date", Origin: "job file /etc/bulkload/check.yaml:7"}, {Name: "memory", Value: "512MiB", Origin: "flag"}, {Name: "verify", Value: "full", Origin: "environment BULKLOAD_VERIFY"}, {Name: "workers", Value: "0", Origin: "default"}},
		Attempts:   []history.Attempt{{Attempt: 1, Began: after(-600), Ended: after(-590), PID: 4242, Host: "loader-1", State: "interrupted"}},
	}
	for i := range 10 {
		start := ""
		if i > 0 {
			start = fmt.Sprint(i)
		}
		r.Regions = append(r.Regions, region{start, 100_000 + int64(i*137%700), 16_915_638 + int64(i*77_777%300_000), 1})
	}
	for i := range 36 {
		s := sample{At: after(min(float64(i), 34.8))}
		at := float64(i)
		share := func(from, to float64) float64 { return min(max((at-from)/(to-from), 0), 1) }
		s.Read, s.Input = int64(1_000_003*share(0.4, 3.3)), int64(209_939_540*share(0.4, 3.3))
		s.Merged, s.Output = int64(1_000_000*share(4.2, 11.1)), int64(169_156_387*share(4.2, 11.1))
		s.Verified = int64(1_000_000 * share(11.3, 34.8))
		r.Samples = append(r.Samples, s)
	}
	return r
}

// skewedReport returns the report of a build with the given number of regions. A few of them have most rows.
func skewedReport(regions int) *document {
	r := goodReport()
	r.Command, r.Load, r.Verify, r.Job, r.JobID, r.Attempts = "build", nil, "", "", "", nil
	r.Regions = nil
	for i := range regions {
		size := 2_000_000 / (1 + float64(i*37%regions)) * 40
		if i%9 == 4 {
			size = 0
		}
		files := 1
		if size == 0 {
			files = 0
		}
		r.Regions = append(r.Regions, region{fmt.Sprintf("%06d", i*1000), int64(size / 200), int64(math.Round(size)), files})
	}
	r.Regions[0].Start = ""
	return r
}

// failedReport returns the report of a run that failed because of HBase.
func failedReport() *document {
	r := goodReport()
	r.Status, r.ExitCode, r.Verify, r.Load = "failed", 7, "", nil
	r.Error = "load table test:check: region 5e0c2d of server rs-2.example:16020: org.apache.hadoop.hbase.NotServingRegionException: test:check,3,1507809600000.5e0c2d. is not online; the HFiles are kept in hdfs://nn:8020/tmp/bulkload-tina/test_check-1"
	r.Advice = "the HFiles are kept. Look at HBase's master, then run the same command again: it resumes the job."
	r.Phases = r.Phases[:4]
	r.Phases[3].Ended = time.Time{}
	r.Ended = after(14)
	r.Samples = r.Samples[:14]
	return r
}

// splitReport returns the report of a run over many directories that ended in one of them.
func splitReport(parts int) *document {
	r := failedReport()
	r.Attempt, r.Attempts, r.Phases, r.Timestamp = 0, nil, nil, 0
	r.Error = "directory hdfs://nn:8020/exports/check/2017/10/03 (3 of 12): " + r.Error
	r.Inputs, r.InputFiles = []progress.InputFile{{Path: "hdfs://nn:8020/exports/check/2017"}}, 3*parts
	r.PartsText = "12 directories: 1 done, 1 done before, 1 failed, 9 pending"
	r.Parts = []part{{Input: "10/03", Status: "failed", Began: after(4)}}
	for i := range parts - 1 {
		r.Parts = append(r.Parts, part{"10/02", "done", after(0.4 + float64(i)), after(3.9 + float64(i)), 100_000, 16_915_638, 3})
	}
	return r
}

// refusedReport returns the report of a run that did nothing.
func refusedReport() *document {
	return &document{Object: ending.Object{Command: "run", Status: "failed", ExitCode: 3, Error: "describe table: table test:none: the table does not exist (bulkload table create test:none makes it)",
		Table: "test:none", Version: "v1.2.3", Host: "loader-1", PID: 4711, Began: noon, Ended: after(0.3)}, Advice: "bulkload check lists all that does not fit.",
		Settings: []settings.Setting{{Name: "table", Value: "test:none", Origin: "flag"}}}
}

// alreadyReport returns the report of a run whose job was done before.
func alreadyReport() *document {
	r := goodReport()
	r.Status, r.Phases, r.Samples, r.Ended = "already", nil, nil, after(0.4)
	r.Attempts = append(r.Attempts, history.Attempt{Attempt: 2, Began: after(-500), Ended: after(-465), PID: 4243, Host: "loader-1", State: "done"})
	return r
}

// hostile is a text with everything that must be escaped.
const hostile = "</style></title><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{.}}&#0;\x00\xff\u202e"

// hostileReport returns a report with that text everywhere, and long words too.
func hostileReport() *document {
	r := failedReport()
	long := hostile + strings.Repeat("W", 300)
	r.Table, r.Job, r.JobID, r.Version, r.Host, r.Error, r.Advice, r.Key, r.Target = long, long, hostile, hostile, hostile, long, hostile, long, long
	r.Inputs[0].Path = long
	r.Regions[0].Start, r.Regions[4].Start = long, hostile
	r.Phases[1].Name = hostile
	r.Rejects[0] = reject{long, hostile, long, long}
	r.WithRecords = true
	r.Warnings = append(r.Warnings, long)
	r.Settings = append(r.Settings, settings.Setting{Name: hostile, Value: long, Origin: hostile})
	r.Attempts[0].Error, r.Attempts[0].Host = long, hostile
	r.RejectFile, r.Verify, r.Replaced = long, hostile, hostile
	r.ReadAs, r.Partitions = []string{long}, long
	r.Lacking, r.PassedOver = []differingFiles{{long, 1, hostile}}, []differingFiles{{hostile, 1, long}}
	r.PartsText, r.Parts = hostile, []part{{Input: long, Status: hostile}}
	r.Load = &loadCounts{Regions: 1, Files: 1, Servers: []server{{long, 1, 1}}}
	return r
}
