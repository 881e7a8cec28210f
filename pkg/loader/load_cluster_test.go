package loader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testcheck"
	"bulkload/internal/test/testcluster"
)

// recorder records events in order.
func recorder(log *[]string) Events {
	return Events{
		OnPrepared: func(string) error { *log = append(*log, "prepared"); return nil },
		OnSending: func(groups []Sending) error {
			for _, g := range groups {
				*log = append(*log, fmt.Sprintf("send %q %d files attempt %d", g.Region.Start, len(g.Files), g.Attempt))
			}
			return nil
		},
		OnCut: func(_ HFile, children []HFile) error {
			*log = append(*log, fmt.Sprintf("cut in %d", len(children)))
			return nil
		},
		OnMerged: func(parents []HFile, _ HFile) error {
			*log = append(*log, fmt.Sprintf("merged %d", len(parents)))
			return nil
		},
		OnFencing:  func(HFile, string) error { *log = append(*log, "fencing"); return nil },
		OnFenced:   func(string, HFile) error { *log = append(*log, "fenced"); return nil },
		OnResolved: func(_ HFile, place Place) error { *log = append(*log, place.String()); return nil },
		OnLoaded: func(r Region, files []HFile) error {
			*log = append(*log, fmt.Sprintf("loaded %q", r.Start))
			return nil
		},
		OnReturned: func(r Region, _ []HFile, _ error) error {
			*log = append(*log, fmt.Sprintf("returned %q", r.Start))
			return nil
		},
		OnRefused: func(e *RefusedError) error { *log = append(*log, "refused"); return nil },
		OnUnknown: func(e *UnknownOutcomeError) error { *log = append(*log, "unknown"); return nil },
		OnCleaned: func(string) error { *log = append(*log, "cleaned"); return nil },
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "m")
	low, high := rowsOf("a", 500), rowsOf("x", 700)
	files := []HFile{
		b.hfile(t, b.fs, b.dir, "f", high),
		b.hfile(t, b.fs, b.dir, "f", low),
		b.hfile(t, b.fs, b.dir, "g", low),
		b.hfile(t, b.fs, b.dir, "g", high),
	}
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, PerServer: 1, Events: recorder(&events)})
	testcheck.Must(t, err)
	want := []string{
		"prepared", `send "" 2 files attempt 1`, `send "m" 2 files attempt 1`, `loaded ""`, `loaded "m"`, "cleaned",
	}
	if !slices.Equal(events, want) {
		t.Errorf("events: %q", events)
	}
	if report.Loaded != 4 || report.Cells != 2*3*1200 || !report.Cleaned || len(report.Regions) != 2 || report.Regions[1].Place != PlaceStore {
		t.Errorf("report: %+v", report)
	}
	t.Logf("load of 4 files into 2 regions took %s", report.Took)
	b.checkRows(t, table, append(low, high...), "f", "g")

	// HBase's own client reads the same.
	digest, err := testcluster.Shared(t).AdminT(t).Digest(t.Context(), table.String())
	testcheck.Must(t, err)
	if got := scanDigest(t, b.Cluster, table); got != digest {
		t.Errorf("our scan: %s\nHBase's:  %s", got, digest)
	}
	// Nothing is left behind, neither at the sources nor in the staging directory.
	for _, f := range files {
		if _, err := b.fs.Stat(t.Context(), fsPath(f.Path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("source %s: %v", f.Path, err)
		}
	}
	super := b.fsAs(t, "hbase")
	if _, err := super.Stat(t.Context(), fsPath(report.Token)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("token directory: %v", err)
	}
	// An empty load does nothing.
	report, err = b.Load(t.Context(), LoadRequest{Table: table, FS: b.fs})
	if err != nil || report.Token != "" {
		t.Errorf("empty load: %+v, %v", report, err)
	}
}

// TestStagingOfAnotherProcess checks that a load that has another owner by now leaves HBase's staging directory, which that one uses too.
func TestStagingOfAnotherProcess(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t)
	rows := rowsOf("a", 10)
	var events []string
	hooks := recorder(&events)
	hooks.OnCleaning = func(context.Context) error { return errors.New("another process has taken over this job") }
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{b.hfile(t, b.fs, b.dir, "f", rows)}, FS: b.fs, Events: hooks})
	testcheck.Must(t, err)
	if report.Cleaned || slices.Contains(events, "cleaned") {
		t.Errorf("events: %q", events)
	}
	_, err = b.fsAs(t, "hbase").Stat(t.Context(), fsPath(report.Token))
	testcheck.Must(t, err)
	testcheck.Must(t, b.Cleanup(t.Context(), table, report.Token))
	b.checkRows(t, table, rows, "f")
}

// refuseBefore checks that a load fails before any preparation, and that all files are unchanged.
func refuseBefore(t *testing.T, b *bench, table TableName, files ...HFile) error {
	t.Helper()
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, Events: recorder(&events)})
	if err == nil || len(events) > 0 || report.Token != "" {
		t.Fatalf("load: %v, events %q, report %+v", err, events, report)
	}
	t.Log(err)
	return err
}

func TestLoadRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "m")
	good := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))

	t.Run("misfit", func(t *testing.T) {
		crossing := b.hfile(t, b.fs, b.dir, "f", []string{"l", "n"})
		err := refuseBefore(t, b, table, good, crossing)
		var e *MisfitError
		if !errors.As(err, &e) || e.File.Path != crossing.Path || string(e.Region.End) != "m" || !strings.Contains(err.Error(), "build again") {
			t.Errorf("%#v", err)
		}
		onEnd := b.hfile(t, b.fs, b.dir, "f", []string{"l", "m"})
		if err := refuseBefore(t, b, table, onEnd); !errors.As(err, &e) {
			t.Errorf("last row equal to the region's end: %v", err)
		}
	})
	t.Run("split after the plan", func(t *testing.T) {
		table := b.table(t)
		f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
		_, err := testcluster.Shared(t).AdminT(t).Run(t.Context(), "split", table.String(), "a000005")
		testcheck.Must(t, err)
		var e *MisfitError
		if err := refuseBefore(t, b, table, f); !errors.As(err, &e) {
			t.Error(err)
		}
	})
	t.Run("unknown family", func(t *testing.T) {
		bad := good
		bad.Family = "zz"
		var e *FamilyError
		if err := refuseBefore(t, b, table, good, bad); !errors.As(err, &e) || e.Unknown[0] != "zz" || len(e.Families) != 2 {
			t.Error(err)
		}
	})
	t.Run("missing file", func(t *testing.T) {
		bad := good
		bad.Path += "0"
		if err := refuseBefore(t, b, table, good, bad); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	t.Run("wrong size", func(t *testing.T) {
		bad := good
		bad.Size++
		refuseBefore(t, b, table, bad)
	})
	t.Run("same name twice", func(t *testing.T) { refuseBefore(t, b, table, good, good) })
	t.Run("too many files", func(t *testing.T) {
		var files []HFile
		for i := range 33 {
			files = append(files, b.hfile(t, b.fs, b.dir, "f", []string{fmt.Sprintf("b%02d", i)}))
		}
		refuseBefore(t, b, table, files...)
	})
	t.Run("missing table", func(t *testing.T) {
		if err := refuseBefore(t, b, TableName{"loader_test", "none"}, good); !errors.Is(err, ErrTableNotFound) {
			t.Error(err)
		}
	})
	t.Run("disabled", func(t *testing.T) {
		testcheck.Must(t, b.DisableTable(t.Context(), table))
		var e *StateError
		if err := refuseBefore(t, b, table, good); !errors.As(err, &e) || e.State != Disabled {
			t.Error(err)
		}
		testcheck.Must(t, b.EnableTable(t.Context(), table))
	})
	// After all these refusals the good file loads.
	_, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{good}, FS: b.fs})
	testcheck.Must(t, err)
	b.checkRows(t, table, rowsOf("a", 10), "f")
}

// TestLoadPermission loads a file in a directory that is closed to the user of the load.
func TestLoadPermission(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t)
	super := b.fsAs(t, "hbase")
	dir := b.dir + "-closed"
	f := b.hfile(t, super, dir, "f", rowsOf("a", 10))
	t.Cleanup(func() { testcheck.Must(t, super.RemoveAll(context.WithoutCancel(t.Context()), dir)) })
	testcheck.Must(t, super.Chmod(t.Context(), dir+"/f", 0o700))
	var events []string
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: super, Events: recorder(&events)})
	var e *RefusedError
	if !errors.As(err, &e) {
		t.Fatalf("%v", err)
	}
	t.Log(err)
	s := e.Files[0]
	if s.Place != PlaceSource || s.Owner != "hbase" || s.Mode != 0o644 || s.DirMode.Perm() != 0o700 || s.DirOwner != "hbase" {
		t.Errorf("%+v", s)
	}
	if !report.Cleaned || report.Loaded != 0 {
		t.Errorf("report %+v", report)
	}
	if !slices.Equal(events, []string{"prepared", `send "" 1 files attempt 1`, `returned ""`, `send "" 1 files attempt 2`, "refused", "cleaned"}) {
		t.Errorf("events %q", events)
	}
	if !slices.ContainsFunc(e.Causes, func(c string) bool { return strings.Contains(c, "chmod o+wx") && strings.Contains(c, dir+"/f ") }) {
		t.Errorf("causes %q", e.Causes)
	}
	b.checkRows(t, table, nil)
}

// TestLoadSplitMeanwhile splits the region between plan and call.
func TestLoadSplitMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	admin := testcluster.Shared(t).AdminT(t)
	for _, c := range []struct {
		name, at string
		fits     bool
	}{{"next to the file", "b", true}, {"through the file", "a000005", false}} {
		t.Run(c.name, func(t *testing.T) {
			table := b.table(t)
			f := b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10))
			var events []string
			on := recorder(&events)
			sending := on.OnSending
			on.OnSending = func(groups []Sending) error {
				if groups[0].Attempt == 1 {
					if _, err := admin.Run(t.Context(), "split", table.String(), c.at); err != nil {
						return err
					}
				}
				return sending(groups)
			}
			report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: []HFile{f}, FS: b.fs, Events: on})
			t.Logf("%q %v", events, err)
			if c.fits {
				testcheck.Must(t, err)
				if report.Regions[0].Attempts != 2 || string(report.Regions[0].Region.End) != "b" {
					t.Errorf("report %+v", report)
				}
				b.checkRows(t, table, rowsOf("a", 10), "f")
				return
			}
			var e *MisfitError
			if !errors.As(err, &e) || !report.Cleaned {
				t.Errorf("%v, report %+v", err, report)
			}
			_, err = b.fs.Stat(t.Context(), fsPath(f.Path))
			testcheck.Must(t, err)
		})
	}
}

func TestLoadEventError(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	table := b.table(t, "m")
	broken := errors.New("the journal is full")
	files := []HFile{b.hfile(t, b.fs, b.dir, "f", rowsOf("a", 10)), b.hfile(t, b.fs, b.dir, "f", rowsOf("x", 10))}
	report, err := b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, PerServer: 1, Events: Events{
		OnSending: func([]Sending) error { return broken },
	}})
	if !errors.Is(err, broken) || report.Loaded != 0 || !report.Cleaned || report.Regions[1].Place != PlaceSource {
		t.Fatalf("%v, report %+v", err, report)
	}
	b.checkRows(t, table, nil)
	report, err = b.Load(t.Context(), LoadRequest{Table: table, Files: files, FS: b.fs, PerServer: 1, Events: Events{
		OnLoaded: func(Region, []HFile) error { return broken },
	}})
	if !errors.Is(err, broken) || report.Loaded != 1 || !report.Cleaned {
		t.Fatalf("%v, report %+v", err, report)
	}
	b.checkRows(t, table, rowsOf("a", 10), "f")
}
