package build

import (
	"fmt"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/spec"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
	"bulkload/pkg/source/listing"
)

// regionCounts counts the records of a region, or of all regions, by outcome.
type regionCounts struct {
	records int64 // sorted
	dups    int64 // left out; of wide rows, cells
	joined  int64 // records of wide rows that are not the first of their row
	noCells int64 // rows without cells
}

func (c *regionCounts) add(o regionCounts) {
	c.records += o.records
	c.dups += o.dups
	c.joined += o.joined
	c.noCells += o.noCells
}

// manifest returns the manifest of the written files. Every manifest of a build is created here, so that nothing is
// loaded unless its record counts balance.
func (w *writers) manifest(t sortTotals) (*manifest.Manifest, error) {
	m := &manifest.Manifest{
		Schema: 1, Table: w.plan.Table, Tables: w.plan.Tables, Key: w.plan.Key.String(), Modulus: w.plan.Modulus, SaltBuckets: w.plan.Stated, Family: w.plan.Family.Name,
		Timestamp: w.plan.Timestamp, Columns: w.plan.Columns, Cells: w.plan.CellNames(), Digest: w.digest, Times: w.times, Wide: w.plan.Joins(), Versions: w.plan.MostVersions(), Stamped: w.plan.Stamped() || w.plan.Packed != nil,
		Duplicates: w.counts.dups, Joined: w.counts.joined, NoCells: w.counts.noCells,
		HFiles: len(w.files), Files: w.files, Samples: w.samples,
	}
	t.addTo(m)
	for _, f := range m.Files {
		m.Bytes += f.Bytes
	}
	if w.uncounted {
		return m, nil // an older version began the job
	}
	if err := w.balance(m); err != nil || w.plan.Packed == nil {
		return m, err
	}
	return m, w.balancePacked(m, t.RowSum)
}

// balance checks that every record that was read is a row in the files or is counted as left out.
func (w *writers) balance(m *manifest.Manifest) error {
	var rows, cells int64
	for _, f := range m.Files {
		rows, cells = rows+f.Rows, cells+f.Cells
	}
	dups := m.Duplicates
	if m.Wide {
		dups = 0 // cells
	}
	expected := m.Records - m.Rejected - m.Filtered - dups - m.Joined - m.NoCells
	var err error
	switch {
	case w.counts.records != m.Records-m.Rejected-m.Filtered:
		err = fmt.Errorf("%s read, %d of them rejected and %d filtered, but %d sorted", setting.Count(m.Records, "record was"), m.Rejected, m.Filtered, w.counts.records)
	case expected != m.Digest.Rows:
		err = fmt.Errorf("%s − %d rejected − %d filtered − %d duplicates − %d joined − %d without cells = %s, but %d were written",
			setting.Count(m.Records, "record"), m.Rejected, m.Filtered, dups, m.Joined, m.NoCells, setting.Count(expected, "row"), m.Digest.Rows)
	case len(w.plan.Families) == 1 && rows != m.Digest.Rows:
		err = fmt.Errorf("%s counted, but the files have %d", setting.Count(m.Digest.Rows, "row was"), rows)
	case cells != m.Digest.Cells:
		err = fmt.Errorf("%s counted, but the files have %d", setting.Count(m.Digest.Cells, "cell was"), cells)
	default:
		return nil
	}
	return fail.With(fail.Unexpected, setting.Errorf("the rows do not add up: %w; nothing was loaded (a fault of bulkload or of this machine: report it, and discard the job with %s)", err, setting.Restart))
}

// SomeRecords returns an error for an input without records to load: a failed export looks like that.
func SomeRecords(records, rejected, filtered int64, o Options) error {
	switch {
	case records > rejected+filtered || o.AllowEmpty:
		return nil
	case records == 0:
		return fail.Errorf(fail.Input, "the input has no records: its files are empty, or have only headers; nothing was loaded (%s)", listing.AllowEmptyHint())
	}
	if filtered > 0 {
		of := fmt.Sprint(records)
		if rejected > 0 {
			of = fmt.Sprintf("%d of %d, the others are bad", filtered, records)
		}
		return fail.Errorf(fail.Input, "the filter leaves out all records of the input (%s); nothing was loaded (%s)", of, listing.AllowEmptyHint())
	}
	return fail.Errorf(fail.Input, "all records of the input (%d) are bad; nothing was loaded (%s)", records, listing.AllowEmptyHint())
}

// someRows returns the same error for a build whose files have no rows.
func someRows(m *manifest.Manifest, o Options) error {
	if m.Digest.Rows > 0 || o.AllowEmpty {
		return nil
	}
	if err := SomeRecords(m.Records, m.Rejected, m.Filtered, o); err != nil {
		return err
	}
	return fail.Errorf(fail.Input, "no record of the input (%d) has a value that becomes a cell; nothing was loaded (%s)", m.Records, listing.AllowEmptyHint())
}

// SomeRowsEarlier returns the error of a build without rows for files that an earlier attempt has built, which may have been allowed to be empty.
func SomeRowsEarlier(all []*manifest.Manifest, allowEmpty bool) error {
	for _, m := range all {
		if err := someRows(m, Options{AllowEmpty: allowEmpty}); err != nil {
			return err
		}
	}
	return nil
}

// AllColumns returns an error if no record of the input has a chosen column, such as a JSON lines member with a mistyped name: the
// column would be NULL in every row. If columns may be missing, it warns instead.
func (o Options) AllColumns(lacking []string, records int64) error {
	if len(lacking) == 0 || records == 0 {
		return nil
	}
	if o.Missing != source.MissingNull {
		return fail.Errorf(fail.Input, "no record of the input has %s; nothing was loaded: see that the names are right (%s null takes what is missing as NULL)",
			someOf(lacking), setting.Missing)
	}
	o.Events.Warn("no record of the input has these columns, which are NULL in all", "columns", someOf(lacking), "records", records)
	return nil
}

// expected returns an error if the input does not have the expected number of records: a truncated stream looks complete.
func expected(records int64, want *int64) error {
	if want == nil || records == *want {
		return nil
	}
	return setting.Errorf("the input has %s, and %d are expected (%s): see that the export is complete; nothing was loaded", setting.Count(records, "record"), *want, setting.Expect)
}

// ExpectedEarlier is expected for records that an earlier attempt has read. Its error asks for a restart, since the rows of those records stay.
func ExpectedEarlier(records int64, want *int64) error {
	if want == nil || records == *want {
		return nil
	}
	return fail.Errorf(fail.Check, "an earlier attempt has read %s, and %d are expected (%s): %s", setting.Count(records, "record"), *want, setting.Expect, spec.RestartHint())
}
