package build

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"bulkload/internal/model/fail"
	"bulkload/pkg/setting"
	"bulkload/pkg/source"
)

// SplitSums holds the checksums of all splits, in their order. In a journal each is eight hex digits.
type SplitSums []uint32

// MarshalJSON writes the list of hex digits.
func (s SplitSums) MarshalJSON() ([]byte, error) {
	list := make([]string, len(s))
	for i, sum := range s {
		list[i] = fmt.Sprintf("%08x", sum)
	}
	return json.Marshal(list)
}

// UnmarshalJSON reads the list of hex digits.
func (s *SplitSums) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*s = make(SplitSums, len(list))
	for i, text := range list {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) != 4 {
			return fmt.Errorf("%q is not a checksum of a split", text)
		}
		(*s)[i] = uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	}
	return nil
}

// sumsOf returns the checksums of an input that was read to its end.
func sumsOf(in *source.Input) SplitSums {
	s := make(SplitSums, len(in.Splits()))
	for i := range s {
		s[i], _ = in.Sum(i)
	}
	return s
}

// sums returns the checksums from the attempt that sorted the input: files that it has written hold its rows, so a
// later attempt must read the same data. It returns nil if there are none or they are unknown.
func (r *Resume) sums() SplitSums {
	if r == nil || r.Sorted == nil {
		return nil
	}
	return r.Sorted.Sums
}

// sameSplits returns an error if the input does not have the splits that an earlier attempt has read.
func (r *Resume) sameSplits(in *source.Input) error {
	was, now := r.sums(), len(in.Splits())
	if was == nil || len(was) == now {
		return nil
	}
	return fail.Errorf(fail.Input, "the input has changed since this job began: it is read in %s, and was in %d", setting.Count(now, "split"), len(was))
}

// sameSplit returns an error if a split differs from the one that an earlier attempt has read.
func (r *Resume) sameSplit(in *source.Input, split int) error {
	was := r.sums()
	if was == nil {
		return nil
	}
	now, _ := in.Sum(split)
	if now == was[split] {
		return nil
	}
	s := in.Splits()[split]
	part := fmt.Sprintf("from byte %d", s.Start)
	switch {
	case in.Files()[s.File].Format.Traits().Rows:
		part = fmt.Sprintf("row group %d", s.RowGroup)
	case s.End < math.MaxInt64:
		part = fmt.Sprintf("bytes %d to %d", s.Start, s.End)
	}
	return fail.Errorf(fail.Input, "the input has changed since this job began: %s, %s: the checksum was %08x, it is %08x", s.Path, part, was[split], now)
}

// Recheck checks that the inputs have not changed.
func Recheck(ctx context.Context, in *source.Input) error {
	err := in.Recheck(ctx)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*source.ChangedError](err); !ok && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, source.ErrSelection) {
		return fail.With(fail.HDFS, err) // the input itself may be intact
	}
	return fail.Errorf(fail.Input, "%w; nothing was loaded", err)
}
