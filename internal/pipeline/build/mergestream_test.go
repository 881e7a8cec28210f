package build

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/internal/test/race"
	"bulkload/pkg/hdfsio"
)

// frame is a record of the shuffle.
type frame struct{ key, value []byte }

// shuffle passes the chunks of all runs to reduces, each a range of regions, sorted by key. Chunks with the same key are in random order.
func shuffle(t *testing.T, runs []PartRun, regions, reduces int, random *rand.Rand) (streams [][]frame, ranges []Regions) {
	t.Helper()
	for i := range reduces {
		r := Regions{regions * i / reduces, regions * (i + 1) / reduces}
		var all []frame
		for _, run := range runs {
			for region := r.From; region < r.To; region++ {
				if run.File.Size(region) == 0 {
					continue
				}
				for in := run.File.Region(region); ; {
					key, value, err := in.Next(nil, nil)
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, frame{key, value})
				}
			}
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		slices.SortStableFunc(all, func(a, b frame) int { return bytes.Compare(a.key, b.key) })
		streams, ranges = append(streams, all), append(ranges, r)
	}
	return streams, ranges
}

func framed(t *testing.T, all []frame) chunk.Source {
	t.Helper()
	var b bytes.Buffer
	w := chunk.NewFrameWriter(&b)
	for _, f := range all {
		if err := w.Chunk(f.key, f.value); err != nil {
			t.Fatal(err)
		}
	}
	return chunk.NewFrameReader(&b, "the shuffle")
}

// TestMergeStreamGivesTheSameFiles checks that chunks that are read once, in the order of the shuffle, give byte for byte the files of one process.
func TestMergeStreamGivesTheSameFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	counts := []int{1, 5}
	if race.Reduced(t) {
		counts = counts[1:]
	}
	for name, c := range partCases(t) {
		t.Run(name, func(t *testing.T) {
			files, want := c.whole(t)
			for _, n := range counts {
				plans, in, runs, err := c.readParts(t, n)
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				var parts []*PartRead
				for _, r := range runs {
					parts = append(parts, r.Read)
				}
				streams, ranges := shuffle(t, runs, RegionsOf(plans), n, random)
				var done [][]*Streamed
				for i, frames := range streams {
					out := Output{FS: hdfsio.Local{}, Dir: dir, Writing: fmt.Sprintf("%s/%d", WritingDir, i)}
					s, err := MergeStream(t.Context(), c.tables(t, plans, out), framed(t, frames), ranges[i], nil, in.Source, Options{Sample: 3})
					if err != nil {
						t.Fatal(err)
					}
					done = append(done, s)
				}
				m, records, err := AssembleStreams(plans, parts, done, true)
				if err != nil {
					t.Fatal(err)
				}
				if got := c.hashes(t, dir); got != files {
					t.Errorf("%d parts: files %s, one build has %s", n, got, files)
				}
				// The records suffice to make the same manifests, as when a job resumes.
				again := NewDone()
				for _, r := range records {
					again.Write(r)
				}
				again.Built, again.BuiltTables = m[0], m[1:]
				back, err := (&Resume{Done: &again}).Manifests(c.tables(t, plans, Output{}))
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range want {
					m, back := m[i], back[i]
					if m.Digest != want.Digest || m.Records != want.Records || m.Duplicates != want.Duplicates || m.Joined != want.Joined || m.NoCells != want.NoCells || len(m.Samples) == 0 {
						t.Errorf("%d parts: %+v, one build has %+v", n, m, want)
					}
					if back.Digest != m.Digest || back.Duplicates != m.Duplicates {
						t.Errorf("%d parts: by the records %+v", n, back)
					}
				}
				for table := range plans {
					refusesLost(t, plans, parts, done, table)
				}
			}
		})
	}
}

// refusesLost checks that an error is returned if a region of a table is missing, is written twice, or belongs to another table.
func refusesLost(t *testing.T, plans []*cells.Plan, parts []*PartRead, done [][]*Streamed, table int) {
	t.Helper()
	at := slices.IndexFunc(done, func(s []*Streamed) bool { return len(s[table].Merged) > 0 })
	was := done[at]
	defer func() { done[at] = was }()
	lost, twice := *was[table], *was[table]
	first := lost.Merged[0]
	lost.Merged = lost.Merged[1:]
	lost.Regions = slices.DeleteFunc(slices.Clone(lost.Regions), func(r WrittenRecord) bool { return r.InSort() == first.Region })
	twice.Merged = append(slices.Clone(twice.Merged), first)
	for want, s := range map[string]*Streamed{"rows are lost": &lost, "was written twice": &twice} {
		done[at] = slices.Clone(was)
		done[at][table] = s
		_, _, err := AssembleStreams(plans, parts, done, true)
		if err == nil || !strings.Contains(err.Error(), want) || len(plans) > 1 && s == &lost && !strings.HasPrefix(err.Error(), "table "+plans[table].Table+": ") {
			t.Errorf("%d parts, table %d: %v, want %q", len(parts), table, err, want)
		}
	}
	if len(plans) == 1 {
		return
	}
	done[at] = slices.Clone(was)
	other := (table + 1) % len(plans)
	moved := *was[other]
	moved.Merged = append(slices.Clone(moved.Merged), first)
	done[at][table], done[at][other] = &lost, &moved
	if _, _, err := AssembleStreams(plans, parts, done, true); err == nil || !strings.Contains(err.Error(), "was written") {
		t.Errorf("%d parts, a region of table %d as one of table %d: %v", len(parts), table, other, err)
	}
}

// TestMergeStreamRefuses checks the errors for a region of another reduce, and for a repeated chunk.
func TestMergeStreamRefuses(t *testing.T) {
	c := partCases(t)["duplicates first"]
	plans, in, runs, err := c.readParts(t, 3)
	if err != nil {
		t.Fatal(err)
	}
	streams, _ := shuffle(t, runs, RegionsOf(plans), 1, rand.New(rand.NewPCG(3, 4)))
	all := streams[0]
	for what, try := range map[string]struct {
		frames  []frame
		regions Regions
		want    string
	}{
		"another region": {all, Regions{0, 2}, "want regions 0 to 1"},
		"twice":          {append(slices.Clone(all[:1]), all...), Regions{0, RegionsOf(plans)}, "after the last one"},
	} {
		out := Output{FS: hdfsio.Local{}, Dir: t.TempDir()}
		if _, err := MergeStream(t.Context(), c.tables(t, plans, out), framed(t, try.frames), try.regions, nil, in.Source, Options{}); err == nil || !strings.Contains(err.Error(), try.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
