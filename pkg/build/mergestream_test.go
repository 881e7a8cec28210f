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

	"bulkload/internal/jobtest"
	"bulkload/internal/race"
	"bulkload/pkg/chunk"
	"bulkload/pkg/hdfsio"
)

// frame is a record of the shuffle.
type frame struct{ key, value []byte }

// shuffle gives the chunks of all runs to reduces, each a range of regions, sorted by key. Those of one key come in any order.
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

// TestMergeStreamGivesTheSameFiles: chunks that come once, sorted as the shuffle sorts them, give byte for byte the files of one process.
func TestMergeStreamGivesTheSameFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	counts := []int{1, 5}
	if race.Reduced(t) {
		counts = counts[1:]
	}
	for name, c := range partCases(t) {
		t.Run(name, func(t *testing.T) {
			whole := t.TempDir()
			want, err := Directory(t.Context(), jobtest.Env(t), jobtest.Resolve(t, c.spec), jobtest.Family, c.splits, whole, WorkOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range counts {
				plan, in, runs, err := c.readParts(t, n)
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				var parts []*PartRead
				for _, r := range runs {
					parts = append(parts, r.Read)
				}
				streams, ranges := shuffle(t, runs, plan.Ranges.Len(), n, random)
				var done []*Streamed
				for i, frames := range streams {
					out := Output{FS: hdfsio.Local{}, Dir: dir, Writing: fmt.Sprintf("%s/%d", WritingDir, i)}
					s, err := MergeStream(t.Context(), plan, framed(t, frames), ranges[i], nil, in.Source, out, 3, Options{})
					if err != nil {
						t.Fatal(err)
					}
					done = append(done, s)
				}
				m, records, err := AssembleStreams(t.Context(), plan, parts, done, true)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := fmt.Sprint(jobtest.Hashes(t, dir)), fmt.Sprint(jobtest.Hashes(t, whole)); a != b {
					t.Errorf("%d parts: files %s, one build has %s", n, a, b)
				}
				if m.Digest != want.Digest || m.Records != want.Records || m.Duplicates != want.Duplicates || m.Joined != want.Joined || m.NoCells != want.NoCells || len(m.Samples) == 0 {
					t.Errorf("%d parts: %+v, one build has %+v", n, m, want)
				}
				// The records alone make the same manifest, as they do when a job resumes.
				again := NewDone()
				for _, r := range records {
					again.Written[r.Region] = r
				}
				again.Built = m
				if back, err := (&Resume{Done: &again}).Manifest(plan, Output{}); err != nil || back.Digest != m.Digest || back.Duplicates != m.Duplicates {
					t.Errorf("%d parts: by the records %+v, %v", n, back, err)
				}
				lost := *done[0]
				lost.Merged = lost.Merged[1:]
				lost.Regions = slices.DeleteFunc(slices.Clone(lost.Regions), func(r WrittenRecord) bool { return r.Region == done[0].Merged[0].Region })
				if _, _, err := AssembleStreams(t.Context(), plan, parts, append([]*Streamed{&lost}, done[1:]...), true); err == nil || !strings.Contains(err.Error(), "rows were lost") {
					t.Errorf("%d parts: a region that nobody wrote: %v", n, err)
				}
			}
		})
	}
}

// TestMergeStreamRefuses: a region of another reduce, and a chunk that comes twice, are no success.
func TestMergeStreamRefuses(t *testing.T) {
	c := partCases(t)["duplicates first"]
	plan, in, runs, err := c.readParts(t, 3)
	if err != nil {
		t.Fatal(err)
	}
	streams, _ := shuffle(t, runs, plan.Ranges.Len(), 1, rand.New(rand.NewPCG(3, 4)))
	all := streams[0]
	for what, try := range map[string]struct {
		frames  []frame
		regions Regions
		want    string
	}{
		"another region": {all, Regions{0, 2}, "where those of 0 to 1 are expected"},
		"twice":          {append(slices.Clone(all[:1]), all...), Regions{0, plan.Ranges.Len()}, "behind the last one"},
	} {
		out := Output{FS: hdfsio.Local{}, Dir: t.TempDir()}
		if _, err := MergeStream(t.Context(), plan, framed(t, try.frames), try.regions, nil, in.Source, out, 0, Options{}); err == nil || !strings.Contains(err.Error(), try.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
