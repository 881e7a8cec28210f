package source

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync/atomic"

	"bulkload/pkg/setting"
)

// ErrBudget is matched by the errors that say that there were more bad records than allowed.
var ErrBudget = errors.New("too many bad records")

// earlyRecords is the number of records that must be read before a share is judged: a few may not be typical.
const earlyRecords = 10_000

// Budget limits the bad records that a job may skip, as set by bad_records. Its methods may be called by any number of goroutines.
type Budget struct {
	// File gets the skipped records. Default: they are only counted. Set it before the first call.
	File *RejectFile
	// Part says that only a part of the input is read here: the caller, which knows the whole input, then judges a share of bad records.
	// Set it before the first call.
	Part bool

	spec  string
	most  int64    // records, or
	share *big.Rat // of all records, 1 for all; nil: most counts
	bad   atomic.Int64
	extra atomic.Int64 // of them, lines after the first of a record
	read  atomic.Int64
}

// NewBudget parses a number of records ("100") or a share of them ("0.5%"). "" and "0" allow none.
func NewBudget(spec string) (*Budget, error) {
	b := &Budget{spec: spec}
	number, share := strings.CutSuffix(strings.TrimSpace(spec), "%")
	var err error
	switch {
	case share:
		b.share, err = parseShare(number)
	case number != "":
		b.most, err = strconv.ParseInt(number, 10, 64)
		if err == nil && b.most < 0 {
			err = errors.New("it is negative")
		}
	}
	if err != nil {
		if e, ok := errors.AsType[*strconv.NumError](err); ok {
			err = e.Err
		}
		return nil, fmt.Errorf("%q is neither a number of records nor a share such as 0.5%%: %w", spec, err)
	}
	return b, nil
}

// parseShare parses a percentage exactly: 29% are 29 of 100.
func parseShare(percent string) (*big.Rat, error) {
	f, err := strconv.ParseFloat(percent, 64)
	if err != nil {
		return nil, err
	}
	if !(f >= 0 && f <= 100) {
		return nil, errors.New("a share is 0% to 100%")
	}
	exact := new(big.Rat)
	if _, ok := exact.SetString(percent); !ok || f == 0 {
		exact.SetFloat64(f)
	}
	return exact.Quo(exact, big.NewRat(100, 1)), nil
}

// exceeds reports whether a number of bad records is more than the share of a total.
func (b *Budget) exceeds(bad, total int64) bool {
	most := new(big.Rat).SetInt64(total)
	return new(big.Rat).SetInt64(bad).Cmp(most.Mul(most, b.share)) > 0
}

// Count records that n records of batches were read, good or bad. It lets a share be judged before the end: count a batch before its records are
// rejected.
func (b *Budget) Count(n int64) { b.read.Add(n) }

// Bad returns the number of records given to Reject; one that spans several lines counts once per line.
func (b *Budget) Bad() int64 { return b.bad.Load() }

// Extra returns the number of lines that the bad records had beyond one each. A record that spans lines counts once per line: usually a
// quote is misplaced in one of the lines, and the others were records. So the number read is that of the input's records plus Extra.
func (b *Budget) Extra() int64 { return b.extra.Load() }

// Allows reports whether a number of bad records is within the budget for a total, regardless of the counts.
func (b *Budget) Allows(bad, total int64) bool {
	if b.share != nil {
		return bad == 0 || !b.exceeds(bad, total)
	}
	return bad <= b.most
}

// Reset clears the counts, for a pass that reads the same input again. The budget must not be used meanwhile.
func (b *Budget) Reset() {
	b.bad.Store(0)
	b.extra.Store(0)
	b.read.Store(0)
}

// RejectRead is Reject for a record that no batch has, and therefore no call of Count. It is a function for [Options.Reject].
func (b *Budget) RejectRead(e RowError) error {
	b.read.Add(1)
	return b.Reject(e)
}

// Reject skips a bad record of a batch. Its error is about this record if none is allowed, or says that there are too many; both match ErrBudget.
func (b *Budget) Reject(e RowError) error {
	lines := max(e.Lines, 1)
	b.extra.Add(lines - 1)
	bad := b.bad.Add(lines)
	if b.None() {
		return &budgetError{row: e.keep(), text: setting.Textf("no bad record is allowed: see %s", setting.BadRecords)}
	}
	if b.File != nil {
		if err := b.File.Write(e); err != nil {
			return err
		}
	}
	if b.share == nil {
		switch {
		case bad > b.most && lines > 1:
			return &budgetError{row: e.keep(), text: setting.Textf("it spans %s, which count as so many bad records: with them there are %d, and %s allows %d", setting.Count(lines, "line"), bad, setting.BadRecords, b.most)}
		case bad > b.most:
			return &budgetError{row: e.keep(), text: setting.Textf("this is one more than the %s that %s allows", setting.Count(b.most, "bad record"), setting.BadRecords)}
		}
		return nil
	}
	if b.Part {
		return nil
	}
	if read := max(b.read.Load()+b.extra.Load(), bad); read > earlyRecords && b.exceeds(bad, read) {
		return &budgetError{row: e.keep(), text: setting.Textf("%d of the first %s are bad, more than the %s that %s allows", bad, setting.Count(read, "record"), b.spec, setting.BadRecords)}
	}
	return nil
}

// None reports whether the budget allows no bad record.
func (b *Budget) None() bool {
	return b.share != nil && b.share.Sign() == 0 || b.share == nil && b.most == 0
}

// Finish judges the whole input: total is the number of its records, including bad ones, without [Budget.Extra]. It does not finish the
// file.
func (b *Budget) Finish(total int64) error {
	if b.share != nil && b.Part {
		return nil
	}
	return b.Judge(b.Bad(), total+b.Extra())
}

// Judge returns an error if a number of bad records is too large for a total, regardless of the counts.
func (b *Budget) Judge(bad, total int64) error {
	switch {
	case bad == 0:
		return nil
	case b.share == nil && bad > b.most:
		return &budgetError{text: setting.Textf("%s bad, and %s allows %d", setting.Count(bad, "record is"), setting.BadRecords, b.most)}
	case b.share != nil && b.exceeds(bad, total):
		return &budgetError{text: setting.Textf("%d of %s are bad, more than the %s that %s allows", bad, setting.Count(total, "record"), b.spec, setting.BadRecords)}
	}
	return nil
}

// budgetError is an error of a budget, with the bad record that exceeded it.
type budgetError struct {
	row  *RowError // nil at the end
	text setting.Text
}

func (e *budgetError) message() setting.Text {
	if e.row == nil {
		return setting.Textf("%v: %s", ErrBudget, e.text)
	}
	if e.row.line > 0 {
		return setting.Textf("%v (line %d; %s)", e.row, e.row.line, e.text)
	}
	return setting.Textf("%v (%s)", e.row, e.text)
}

func (e *budgetError) Error() string                             { return e.message().String() }
func (e *budgetError) Settings() []setting.Name                  { return e.text.Settings() }
func (e *budgetError) In(words func(setting.Name) string) string { return e.message().In(words) }

func (e *budgetError) Unwrap() []error {
	if e.row == nil {
		return []error{ErrBudget}
	}
	return []error{ErrBudget, e.row}
}
