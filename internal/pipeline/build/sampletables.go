package build

import (
	"slices"
	"time"

	"bulkload/internal/pipeline/cells"
	"bulkload/pkg/partition/extsort"
)

// sampledTable holds a sample's counts of one table.
type sampledTable struct {
	plan      *cells.Plan
	from      int   // its first region in the sort
	rows      int64 // in the sort
	bytes     int64 // size of these rows in the sort
	left      int64 // sampled rows that are left out because another has the same key
	cells     int64
	fileBytes int64         // of HFiles
	took      time.Duration // to write the HFiles, sum over all workers
}

// plans returns the plans of all tables.
func (s *Sample) plans() []*cells.Plan { return slices.Concat([]*cells.Plan{s.Plan}, s.Further) }

// countSorted counts the rows in the sort.
func (s *Sample) countSorted(sorter *extsort.Sorter) {
	s.SortedBytes, s.stored, s.regions, s.tables = 0, 0, nil, nil
	for _, p := range s.plans() {
		t := sampledTable{plan: p, from: len(s.regions)}
		for range p.Ranges.Len() {
			rows, bytes := sorter.Size(len(s.regions))
			s.regions = append(s.regions, rows)
			t.rows += rows
			t.bytes += bytes
		}
		s.stored += t.rows
		s.SortedBytes += t.bytes
		s.tables = append(s.tables, t)
	}
}

// leaveOut counts rows of a table that are left out.
func (s *Sample) leaveOut(t *sampledTable, rows int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.left += rows
	s.Duplicates += rows
}

// Table returns one table's part of a finished sample. Table 0 is the table of Plan. Reading and sorting are common to all
// tables: the counts of the input, the times of reading and sorting, and the forecast's runs and memory are those of the
// whole sample.
func (s *Sample) Table(number int) *Sample {
	one := &Sample{Plan: s.plans()[number], Input: s.Input, Options: s.Options, Extent: s.Extent, Limit: s.Limit, Sort: s.Sort, sampleCounts: s.sampleCounts,
		TotalRows: s.TotalRows, Forecast: s.Forecast, SortTime: s.SortTime, FileTime: s.FileTime, all: s}
	if number >= len(s.tables) {
		return one // nothing was read
	}
	if one.left = s.left.of(number); one.left.Filtered > s.left.Filtered {
		one.TotalRows = int64(float64(s.TotalRows) * float64(one.Kept()) / float64(s.Kept()))
	}
	t := s.tables[number]
	one.SortedBytes, one.stored, one.Duplicates, one.Cells, one.HFileBytes, one.WriteTime = t.bytes, t.rows, t.left, t.cells, t.fileBytes, t.took
	one.regions = s.regions[t.from : t.from+t.plan.Ranges.Len()]
	one.SpilledBytes = int64(float64(s.SpilledBytes) * one.share())
	one.Foresee()
	return one
}

// share returns the table's share of the bytes in the sort.
func (s *Sample) share() float64 {
	if s.all == nil || s.all.SortedBytes == 0 {
		return 1
	}
	return float64(s.SortedBytes) / float64(s.all.SortedBytes)
}

// Foresee forecasts the sort of all rows: each record has one row in each table without a filter of its own. For one table's part it forecasts the
// bytes of that table on disk, in a sort of all tables.
func (s *Sample) Foresee() {
	whole := s
	if s.all != nil {
		whole = s.all
	}
	if whole.stored == 0 {
		return
	}
	rows := s.TotalRows * int64(1+len(whole.Further))
	if whole.left.FilteredOwn != nil {
		rows = int64(float64(s.TotalRows) / float64(max(s.Kept(), 1)) * float64(whole.stored))
	}
	o := sortOptions(whole.Options, whole.plans())
	o.Workers, o.Memory = s.Sort.Workers, s.Sort.Memory
	s.Forecast = o.Forecast(rows, int64(float64(whole.SortedBytes)/float64(whole.stored)*float64(rows)))
	if share := s.share(); s.all != nil {
		s.Forecast.Written, s.Forecast.Most = int64(float64(s.Forecast.Written)*share), int64(float64(s.Forecast.Most)*share)
	}
}
