package share

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"bulkload/internal/base/abilities"
	"bulkload/internal/base/cleanup"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/progress"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/chunk"
	"bulkload/pkg/hdfsio"
)

// Most is the maximum number of shares.
const Most = 99_999

// Share is the description of share K of N, next to its chunks.
type Share struct {
	Schema    int    `json:"schema"` // 1
	Plan      string `json:"plan"`   // the plan's checksum
	Share     int    `json:"share"`  // from 1
	Shares    int    `json:"shares"`
	From      int    `json:"from"` // first split of the input
	To        int    `json:"to"`   // after the last split
	Chunks    string `json:"chunks"`
	Bytes     int64  `json:"bytes"`
	ChunkSize int    `json:"chunk_size"`
	build.PartRead
	Checksum string `json:"checksum"`

	file string // of the description
}

// Fraction is a pair K/N.
type Fraction struct{ K, N int }

// ParseFraction parses K/N, with 1 ≤ K ≤ N ≤ [Most], or I+1/N for callers that count from 0, such as Kubernetes.
func ParseFraction(text string) (Fraction, error) {
	m := regexp.MustCompile(`^([0-9]{1,5})(\+1)?/([0-9]{1,5})$`).FindStringSubmatch(text)
	if m == nil {
		return Fraction{}, fmt.Errorf("%q is not a share; write 3/7", text)
	}
	k, _ := strconv.Atoi(m[1])
	n, _ := strconv.Atoi(m[3])
	if m[2] != "" {
		k++
	}
	if k < 1 || k > n {
		return Fraction{}, fmt.Errorf("%q: the first number is from 1 to the second", text)
	}
	return Fraction{k, n}, nil
}

func (o Fraction) String() string { return fmt.Sprintf("%d/%d", o.K, o.N) }

// few lists the first elements.
func few(all []Fraction) string {
	const most = 10
	var names []string
	for _, of := range all[:min(most, len(all))] {
		names = append(names, of.String())
	}
	if len(all) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

func (o Fraction) name(what string) string { return fmt.Sprintf("%s-%05d-of-%05d", what, o.K, o.N) }

// RejectName returns the name of a share's file of bad records.
func (o Fraction) RejectName() string { return o.name("share") + ".rejects.jsonl" }

// FilteredName returns the name of a share's file of records that the filter leaves out.
func (o Fraction) FilteredName() string { return o.name("share") + ".filtered.jsonl" }

// chunkSize returns a chunk size such that a merge with as much memory can hold a chunk of every share for each of two workers.
func chunkSize(memory int64, shares int) int {
	return int(min(max(memory/int64(8*shares), chunk.MinSize), chunk.DefaultSize))
}

// Build reads a share of the plan's input, and writes its rows into dir, which it creates if it is missing.
func Build(ctx context.Context, files build.Files, p *Plan, of Fraction, dir string, w build.WorkOptions) (s *Share, err error) {
	if w.DuplicatesFile != "" {
		return nil, fail.With(fail.Config, abilities.Refusal(abilities.Run, abilities.Duplicates))
	}
	_, plans, err := p.Resolve(ctx)
	if err != nil {
		return nil, err
	}
	fsys, name, err := files.Resolve(dir)
	if err != nil {
		return nil, err
	}
	if err := fsys.MkdirAll(ctx, name, 0o755); err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	d := directory{fsys, name, dir}
	before, err := d.list(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := before.sameShares(of.N, dir); err != nil {
		return nil, err
	}
	in, err := p.Open(ctx, files, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	part := p.Part(of)
	begin(w.Events, in, plans[0], p, dir, "read", "sort", "write")
	o := build.Options{Workers: w.Workers, Memory: w.Memory, SpillDir: w.SpillDir, Budget: in.Budget, Filtered: in.Filtered, Checks: in.Checks(), Events: w.Events, Gate: w.Gate, SpillLimit: w.SpillLimit}.WithDefaults()
	s = &Share{Schema: 1, Plan: p.Checksum, Share: of.K, Shares: of.N, From: part.From, To: part.To, ChunkSize: chunkSize(int64(o.Memory), of.N)}
	stem := fmt.Sprintf("%s.%d.%s", of.name("share"), before.attempt(of.K)+1, token())
	s.Chunks = stem + ".chunks"
	sink, err := d.create(ctx, s.Chunks, p.Regions())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, sink.abort(ctx))
		}
	}()
	read, err := p.Read(ctx, plans, in, part, sink, chunk.Options{Run: uint32(of.K - 1), Size: s.ChunkSize}, w.RejectFile, o)
	if err != nil && in.Budget.File != nil && d.hasRejects(ctx, p, of, in.Budget.File.Path()) {
		err = errors.Join(err, in.Budget.File.Abort())
	}
	if err = FinishRejects(in, err); err != nil {
		return nil, err
	}
	if f := in.Budget.File; f != nil && read.Rejected > 0 {
		read.RejectFile = f.Path()
	}
	s.PartRead, s.Bytes, s.file = *read, sink.bytes, stem+".json"
	if err := WriteSealed(ctx, fsys, d.path(s.file), s, &s.Checksum); err != nil {
		return nil, err
	}
	return s, d.supersede(ctx, before.of(of.K), w.Events)
}

// hasRejects reports whether the file of bad records is that of a complete attempt of the share, which an attempt that fails must not replace by a part.
// If the attempts cannot be listed, it may be.
func (d directory) hasRejects(ctx context.Context, p *Plan, of Fraction, name string) bool {
	if _, err := os.Stat(name); err != nil {
		return false
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	all, err := d.list(ctx, p)
	return err != nil || len(all.of(of.K)) > 0
}

// FinishRejects completes the file of bad records of a part, also of a failed one, and adds its name to an error about too many bad records.
func FinishRejects(in *build.Input, err error) error {
	if err != nil && in.Filtered != nil {
		err = errors.Join(err, in.Filtered.Abort())
	}
	f := in.Budget.File
	if f == nil {
		return err
	}
	n, rejectErr := f.Finish()
	if n > 0 {
		err = fail.WithRejects(err, f.Path())
	}
	if errors.Is(err, rejectErr) { // it has ended the part
		return err
	}
	return errors.Join(err, rejectErr)
}

// begin reports the start of the work, for the first table.
func begin(e progress.Events, in *build.Input, plan *cells.Plan, p *Plan, dir string, phases ...string) {
	s := progress.Start{Table: plan.Table, Attempt: 1, Key: p.key(), Inputs: p.Job.Inputs, Regions: plan.Ranges.Len(), Timestamp: plan.Timestamp,
		Columns: len(plan.Columns), Staging: dir, Splits: plan.Ranges.Splits(), Phases: phases}
	if in != nil {
		in.AddTo(&s)
	}
	e.Start(s)
}

// fileSink is the file of a share's chunks.
type fileSink struct {
	*chunk.FileWriter
	buf   *bufio.Writer
	file  hdfsio.Writer
	fsys  hdfsio.FS
	name  string
	bytes int64
	done  bool
}

func (d directory) create(ctx context.Context, name string, regions int) (*fileSink, error) {
	f, err := d.fs.Create(ctx, d.path(name), hdfsio.CreateOptions{})
	if err != nil {
		return nil, fail.With(fail.HDFS, err)
	}
	s := &fileSink{file: f, fsys: d.fs, name: d.path(name)}
	s.buf = bufio.NewWriterSize(counter{s}, 256<<10)
	s.FileWriter = chunk.NewFileWriter(s.buf, regions)
	return s, nil
}

// counter counts the written bytes.
type counter struct{ s *fileSink }

func (c counter) Write(b []byte) (int, error) {
	n, err := c.s.file.Write(b)
	c.s.bytes += int64(n)
	return n, err
}

// Finish implements [build.Sink].
func (s *fileSink) Finish() error {
	if err := errors.Join(s.FileWriter.Finish(), s.buf.Flush()); err != nil {
		return err
	}
	err := s.file.Finish()
	s.done = err == nil
	return err
}

// abort removes the file, complete or not.
func (s *fileSink) abort(ctx context.Context) error {
	if !s.done {
		return s.file.Abort()
	}
	ctx, cancel := cleanup.Context(ctx)
	defer cancel()
	return ignoreGone(s.fsys.Remove(ctx, s.name))
}
