package estimate

import (
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/cells"
	"bulkload/internal/pipeline/preflight"
	"bulkload/pkg/hfile"
	"bulkload/pkg/keygen"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/partition"
	"bulkload/pkg/setting"
)

const (
	longKey     = 100 // bytes; a key is in every cell
	enoughSeen  = 100 // rows of a region, for a significant share
	fewSeen     = 20  // rows expected of a region, for a significant absence
	hotRows     = 1000
	hotShare    = 0.01
	nameShare   = 0.15    // part of a cell that is names
	longFamily  = 8       // bytes
	manyHFiles  = 100     // of a load
	smallHFile  = 1 << 20 // bytes
	cellFixed   = 20      // bytes of a cell besides row, names and value: lengths, timestamp, type (KeyValue, 2.6)
	namedInText = 3       // regions or keys that a message names
)

// warn adds the warnings that an operator should see before the load.
func (e *Estimate) warn(plan *cells.Plan, t *tally, o BuildOptions) {
	if t.rows == 0 {
		return
	}
	for _, c := range []preflight.Check{
		e.warnSkew(o.Skew), e.warnHot(), e.warnSize(), e.warnEmpty(), e.warnKeys(plan, t), e.warnNames(plan, t),
		e.warnSpill(o.spillLimit), e.warnFiles(), e.warnSalts(plan), e.warnBad(), e.warnColumns(t), e.warnSample(t),
	} {
		if c.Severity != preflight.SeverityOK {
			e.Warnings = append(e.Warnings, c)
		}
	}
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// from describes the base of a rate.
func (e *Estimate) from() string {
	if e.Exact {
		return fmt.Sprintf("of all %s", setting.Count(e.Rows, "row"))
	}
	return fmt.Sprintf("in a sample of %s", setting.Count(e.CountedRows, "row"))
}

// regionName returns a region's number, from 1, and its start.
func (e *Estimate) regionName(i int) string {
	if i == 0 {
		return "1 (the first)"
	}
	return fmt.Sprintf("%d (from %s)", i+1, rowkey.String(e.Regions[i].Start))
}

// named lists some of the regions, and the number of the others.
func (e *Estimate) named(regions []int, say func(i int) string) string {
	var texts []string
	for _, i := range regions[:min(len(regions), namedInText)] {
		texts = append(texts, say(i))
	}
	if n := len(regions) - len(texts); n > 0 {
		texts = append(texts, fmt.Sprintf("%d more", n))
	}
	return strings.Join(texts, ", ")
}

// regionsWhere returns the regions for which holds returns true, the one with the most rows first.
func (e *Estimate) regionsWhere(holds func(r *RegionEstimate) bool) []int {
	var found []int
	for i := range e.Regions {
		if holds(&e.Regions[i]) {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return int(e.Regions[b].Rows - e.Regions[a].Rows) })
	return found
}

func (e *Estimate) warnSkew(times float64) preflight.Check {
	fair := 1 / float64(len(e.Regions))
	heavy := e.regionsWhere(func(r *RegionEstimate) bool { return r.Share > times*fair && r.seen >= enoughSeen })
	if len(heavy) == 0 || len(e.Regions) == 1 {
		return preflight.Check{}
	}
	hint := setting.Textf("choose split points that the keys reach evenly (%s N finds some), or a key that begins with a salt or a hash", setting.Suggest)
	if len(e.HeavyKeys) > 0 && e.HeavyKeys[0].Share > e.Regions[heavy[0]].Share/2 {
		hint = setting.Plain("no split point separates rows of one query key: put another key column before it, or load these rows elsewhere")
	}
	return preflight.Doubtful("skew", hint, "%d of %s have more than %g times their fair share of %s: %s (%s)", len(heavy), setting.Count(len(e.Regions), "region"), times, percent(fair),
		e.named(heavy, func(i int) string { return e.regionName(i) + " has " + percent(e.Regions[i].Share) }), e.from())
}

func (e *Estimate) warnHot() preflight.Check {
	least := hotShare
	if n := len(e.Regions); n > 50 {
		least = max(0.5/float64(n), 0.001)
	}
	var texts []string
	for _, k := range e.HeavyKeys {
		if k.Share >= least && k.Rows >= hotRows {
			texts = append(texts, fmt.Sprintf("%q has %s (about %s)", strings.Join(k.Values, " "), percent(k.Share), setting.Count(k.Rows, "row")))
		}
	}
	if len(texts) == 0 {
		return preflight.Check{}
	}
	return preflight.Doubtful("hot query keys", "all rows of a query key are in one region and one answer: check whether it is a placeholder (such as UNKNOWN), and page the answers",
		"by %s: %s (%s)", strings.Join(e.QueryColumns, ", "), strings.Join(texts, ", "), e.from())
}

func (e *Estimate) warnSize() preflight.Check {
	large := e.regionsWhere(func(r *RegionEstimate) bool { return r.Bytes > e.MaxRegionSize })
	if len(large) == 0 {
		return preflight.Check{}
	}
	total := int64(0)
	for _, r := range e.Regions {
		total += r.Bytes
	}
	n := 2*total/e.MaxRegionSize + 1
	hint := setting.Textf("create the table with more regions (%d would have %s each), or raise its MAX_FILESIZE", n, spec.Size(total/n).Rounded())
	if total/int64(len(e.Regions)) <= e.MaxRegionSize {
		hint = setting.Textf("the regions would be large enough if keys reached them evenly: %s N finds split points, or raise the table's MAX_FILESIZE", setting.Suggest)
	}
	return preflight.Doubtful("region size", hint,
		"%d of %s get more than the %s at which a region splits (%s), of this load alone: %s; splits and compactions follow it",
		len(large), setting.Count(len(e.Regions), "region"), spec.Size(e.MaxRegionSize).Rounded(), e.MaxRegionFrom,
		e.named(large, func(i int) string { return e.regionName(i) + " gets " + spec.Size(e.Regions[i].Bytes).Rounded() }))
}

func (e *Estimate) warnEmpty() preflight.Check {
	empty := e.regionsWhere(func(r *RegionEstimate) bool { return r.seen == 0 })
	if len(empty) == 0 || !e.Exact && e.CountedRows/int64(len(e.Regions)) < fewSeen {
		return preflight.Check{}
	}
	return preflight.Doubtful("empty regions", "check whether the table was split for another key: hex digits, decimal salts and text need different split points",
		"%d of %s get no row: %s (%s)", len(empty), setting.Count(len(e.Regions), "region"), e.named(empty, e.regionName), e.from())
}

// cellBytes returns the sizes of the counted rows' cells before encoding.
func cellBytes(plan *cells.Plan, t *tally) (keys, names, all float64) {
	cells, names := t.packed.cells, t.packed.names
	for c, n := range t.cells {
		cells += n
		names += n * float64(len(plan.Columns[c])+len(plan.Family.Name))
	}
	keys = t.keyBytes / t.rows * cells
	return keys, names, keys + names + cells*cellFixed + t.bytes - t.keyBytes
}

func (e *Estimate) warnKeys(plan *cells.Plan, t *tally) preflight.Check {
	if t.longKeys == 0 {
		return preflight.Check{}
	}
	keys, _, all := cellBytes(plan, t)
	return preflight.Doubtful("key length", "every cell has the key: hash long columns (md5hex has 32 bytes), or use their short codes",
		"%s of the keys are longer than %s (%.0f on average, %d at most); keys are %s of the bytes of cells before encoding", percent(t.longKeys/t.rows), setting.Count(longKey, "byte"), e.KeyLength.Mean, e.KeyLength.Max, percent(keys/all))
}

func (e *Estimate) warnNames(plan *cells.Plan, t *tally) preflight.Check {
	if len(plan.Columns) == 0 {
		return preflight.Check{} // rows carry their own names
	}
	_, names, all := cellBytes(plan, t)
	if names/all < nameShare && len(plan.Family.Name) <= longFamily {
		return preflight.Check{}
	}
	longest := slices.MaxFunc(plan.Columns, func(a, b string) int { return len(a) - len(b) })
	message := fmt.Sprintf("family and qualifier names are %s of the bytes of cells before encoding (family %q, longest qualifier %q)", percent(names/all), plan.Family.Name, longest)
	if plan.Family.Encoding == hfile.EncodingNone {
		message += ", and the family has no encoding that would write them once"
	}
	return preflight.Doubtful("names", "every cell stores them: use one letter for the family and a few for each qualifier", "%s", message)
}

func (e *Estimate) warnFiles() preflight.Check {
	if e.HFiles < manyHFiles || e.HFileBytes/int64(e.HFiles) >= smallHFile {
		return preflight.Check{}
	}
	return preflight.Doubtful("files", "load less often, or split the table into fewer regions",
		"%s of %s on average: each load adds one file to every region, which HBase must compact", setting.Count(e.HFiles, "HFile"), spec.Size(e.HFileBytes/int64(e.HFiles)).Rounded())
}

func (e *Estimate) warnSalts(plan *cells.Plan) preflight.Check {
	salts := plan.Salts()
	if salts == 0 {
		return preflight.Check{}
	}
	switch regions := len(e.Regions); {
	case salts > regions:
		return preflight.Doubtful("salts", fmt.Sprintf("create one region for each salt, or use fewer salts: range scans read all %d", salts),
			"%s and %s: several salts share a region, so the extra salts spread nothing", setting.Count(salts, "salt"), setting.Count(regions, "region"))
	case e.Suggested && keygen.NeedsRegions(plan.Key) && partition.SaltModulus(plan.Ranges.Splits()) != plan.Modulus:
		return preflight.Doubtful("salts", fmt.Sprintf("put salt_buckets: %d into the job file, so that readers and loads agree", plan.Modulus),
			"a table with the suggested split points does not show the number of salts")
	}
	return preflight.Check{}
}

func (e *Estimate) warnBad() preflight.Check {
	if e.BadRecords == 0 {
		return preflight.Check{}
	}
	return preflight.Doubtful("bad records", setting.Textf("a load writes them to its reject file, with reasons, up to the limit of %s", setting.BadRecords),
		"%s without a row (%s)", setting.Count(e.BadRecords, "record"), e.from())
}

// warnColumns warns of chosen columns that no record has, among those that were read.
func (e *Estimate) warnColumns(t *tally) preflight.Check {
	if len(t.lacking) == 0 {
		return preflight.Check{}
	}
	return preflight.Doubtful("columns", setting.Textf("check the names: a load refuses columns that no record has, unless %s null accepts them", setting.Missing),
		"no record has %s (%s)", strings.Join(t.lacking[:min(len(t.lacking), namedInText)], ", "), e.from())
}

// warnSample warns if the sample may not be representative.
func (e *Estimate) warnSample(t *tally) preflight.Check {
	if !t.cutPacked {
		return preflight.Check{}
	}
	return preflight.Doubtful("sample", setting.Textf("%s reads all of the input", setting.Exact), "packed files are sampled at their beginnings only: shares are wrong if rows are sorted")
}

// warnSpill compares the disk limit with the expected spill.
func (e *Estimate) warnSpill(limit spec.Size) preflight.Check {
	if limit == 0 || !e.Spills || e.SpillMost <= int64(limit) {
		return preflight.Check{}
	}
	return preflight.Doubtful("spill limit", setting.Textf("allow more with %s, give more %s, or load the input in parts", setting.SpillLimit, setting.Memory), "sorting takes %s of disk at a time, %s allows %s",
		spec.Size(e.SpillMost).Rounded(), setting.SpillLimit, spec.Size(limit).Rounded())
}
