package source

import (
	"context"
	"errors"
	"io"
)

// Extent is the amount of data in an input, determined without reading it all.
type Extent struct {
	// Rows is the number of rows of Parquet files, from their footers.
	Rows int64
	// Text is the number of bytes of all other files: unpacked for text, as stored for Avro. [Batch.Bytes] of the records read gives the average
	// size of a record.
	Text int64
	// Exact is false if Text includes packed files too large to unpack for this; their beginning is extrapolated.
	Exact bool
}

// extentText is the amount of a packed file's text that is unpacked to find its ratio: a quarter of a second's work.
const extentText = 32 << 20

// Extent returns the amount of data in the input. It unpacks up to 32 MiB of each packed file.
func (in *Input) Extent(ctx context.Context) (Extent, error) {
	e, packed := in.plainExtent()
	for _, f := range packed {
		n, exact, err := f.unpackedSize(ctx, extentText)
		if err != nil {
			return Extent{}, err
		}
		e.Text += n
		e.Exact = e.Exact && exact
	}
	return e, nil
}

// plainExtent returns the extent of the unpacked files, and the packed ones.
func (in *Input) plainExtent() (e Extent, packed []*inputFile) {
	e.Exact = true
	for _, f := range in.files {
		switch {
		case f.facts.Rows: // and their splits say how many
		case !f.sequential():
			e.Text += max(0, f.size()-f.dataStart)
		default:
			packed = append(packed, f)
		}
	}
	for _, s := range in.splits {
		if in.files[s.File].facts.Rows {
			e.Rows += s.End - s.Start
		}
	}
	return e, packed
}

// Limits of the unpacking by RoughExtent.
const (
	roughFiles = 3
	roughText  = 4 << 20 // of each
)

// RoughExtent is like [Input.Extent] for inputs of any number of packed files: it extrapolates from the first 4 MiB of three of them.
func (in *Input) RoughExtent(ctx context.Context) (Extent, error) {
	e, packed := in.plainExtent()
	if len(packed) == 0 {
		return e, nil
	}
	e.Exact = false
	var size, from, to int64
	for _, f := range packed {
		size += f.Info.Size()
	}
	sampled := min(roughFiles, len(packed))
	for i := range sampled {
		f := packed[i*len(packed)/sampled]
		n, _, err := f.unpackedSize(ctx, roughText)
		if err != nil {
			return e, err
		}
		from, to = from+f.Info.Size(), to+n
	}
	if from > 0 {
		e.Text += int64(float64(size) * float64(to) / float64(from))
	}
	return e, nil
}

// unpackedSize returns the length of a packed file's text; it is not exact if the file continues after its first most bytes.
func (f *inputFile) unpackedSize(ctx context.Context, most int64) (n int64, exact bool, err error) {
	s, err := f.openText(ctx, 0)
	if err != nil {
		return 0, false, err
	}
	n, err = io.CopyN(io.Discard, s.text, most)
	err = errors.Join(ignoreEOF(err), s.Close()) // and now nothing moves s.at
	if err != nil {
		return 0, false, err
	}
	if n < most || s.at == 0 {
		return n, true, nil
	}
	return int64(float64(n) * float64(f.Info.Size()) / float64(s.at)), false, nil
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
