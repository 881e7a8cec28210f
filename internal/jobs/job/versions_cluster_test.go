package job

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/engine/checkpoint"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
	"bulkload/pkg/hfile"
	"bulkload/pkg/loader"
	"bulkload/pkg/partition"
)

// versionsDigest returns the digest that HBase's client computes for a table with exactly these cells when it reads several versions.
func versionsDigest(cells []hfile.Cell) string {
	h := sha256.New()
	rows := map[string]bool{}
	text := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
		h.Write(b)
	}
	for _, c := range cells {
		rows[string(c.Row)] = true
		text(c.Row)
		text(c.Family)
		text(c.Qualifier)
		h.Write(append(binary.BigEndian.AppendUint64(nil, uint64(c.Timestamp)), byte(c.Type)))
		text(c.Value)
	}
	return fmt.Sprintf("rows=%d cells=%d sha256=%x", len(rows), len(cells), h.Sum(nil))
}

// TestRunVersions loads records of one key as versions of its row, the newest ones, as many as a family keeps. HBase's own client finds them before a
// compaction and after it. A job with more versions than are kept is refused.
func TestRunVersions(t *testing.T) {
	t.Parallel()
	testcluster := testcluster.Shared(t)
	env := jobtest.ClusterEnv(t, testcluster)
	records := clusterRecords(400)
	for i, r := range records {
		r[0], r[6] = fmt.Sprintf("%duser%d", i%4, i%40), fmt.Sprintf("201505240%d%02d%02d", i%10, i*7%60, i/10)
	}
	input := filepath.Join(t.TempDir(), "rows.dump")
	jobtest.WriteRecords(t, input, records)
	table := func(versions int) string {
		name := "test:" + testcheck.Name(t)
		parsed, err := loader.ParseTableName(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := env.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		jobtest.MakeTable(t, env, c, loader.TableSpec{Name: parsed, CreateNamespace: true, SplitKeys: partition.SaltSplits(4), Families: []loader.Family{
			{Name: "f", Encoding: "FAST_DIFF", Bloom: "ROW", Versions: versions}, {Name: "g", Compression: "SNAPPY", Bloom: "ROWCOL", Versions: versions}}})
		return name
	}
	m := spec.Mapping{Cells: []spec.CellSpec{{Column: "text"}, {Column: "n", Family: "g", Type: "long"}, {Column: "id"}}, CellTimestamp: &spec.TimeColumn{Column: "at", Layout: "yyyyMMddHHmmss", Zone: "Asia/Shanghai"}}
	s := spec.Spec{Inputs: []string{input}, Format: "dump", Columns: jobtest.MappedColumns, Key: "id", Mapping: m, Duplicates: "versions"}
	for _, mode := range []string{"full", "sample", "files"} {
		t.Run(mode, func(t *testing.T) {
			s := s
			s.Table, s.Verify = table(3), mode
			r, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			plain := s
			plain.Versions = 3
			want, _ := jobtest.PlainWideCells(t, plain, jobtest.MappedColumns, records)
			if got := r.Manifest; got.Digest.Rows != 40 || got.Digest.Cells != int64(len(want)) || got.Versions != 3 || got.Duplicates == 0 || mode == "full" && r.Verify.Got != got.Digest {
				t.Errorf("%s of at most %d versions, %d left out, verified %+v; want %d cells", got.Digest, got.Versions, got.Duplicates, r.Verify, len(want))
			}
			for _, step := range []string{"loaded", "major-compact"} {
				if step != "loaded" {
					if out, err := testcluster.AdminT(t).Run(t.Context(), step, s.Table); err != nil {
						t.Fatal(out, err)
					}
				}
				got, err := testcluster.AdminT(t).Run(t.Context(), "cells-digest", s.Table, "10")
				if err != nil || got != versionsDigest(want) {
					t.Errorf("%s: the table has %s, want %s, %v", step, got, versionsDigest(want), err)
				}
			}
		})
	}
	for want, change := range map[string]func(*spec.Spec){
		"keeps 1 version of a cell":     func(s *spec.Spec) { s.Table = table(1) },
		"5: family f keeps 3 of a cell": func(s *spec.Spec) { s.Table, s.Versions = table(3), 5 },
	} {
		s := s
		change(&s)
		if _, err := Run(t.Context(), env, jobtest.Resolve(t, s), RunOptions{State: checkpoint.Options{Dir: t.TempDir()}}); fail.KindOf(err) != fail.Config || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
