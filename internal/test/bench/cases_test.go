package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Names of the cases.
const (
	CaseBuild   = "build"
	CaseRun     = "run"
	CaseMemory  = "memory64"
	CaseSkew    = "skew"
	CaseScale   = "scale50m"
	CaseOpinion = "opinion20m"
	CaseDelay   = "upload-delay"
	CaseNightly = "nightly"
	CaseRegions = "regions1000"
)

// Cases returns the names of all cases except the guard's, in the order in which they should run.
func Cases() []string {
	return []string{CaseBuild, CaseRun, CaseMemory, CaseSkew, CaseScale, CaseOpinion, CaseDelay, CaseNightly, CaseRegions}
}

// Expand replaces all and guard by the cases that they stand for.
func Expand(names []string) []string {
	var all []string
	for _, name := range names {
		switch name {
		case "all":
			all = append(all, Cases()...)
		case CaseGuard:
			all = append(all, GuardCases()...)
		default:
			all = append(all, name)
		}
	}
	return all
}

// CheckCases returns an error for the first name that is not a case.
func CheckCases(names []string) error {
	known := slices.Concat(Cases(), GuardCases())
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown case %q: want one of %v", name, known)
		}
	}
	return nil
}

// Run prepares and measures one case.
func (l *Lab) Run(ctx context.Context, name string) (CaseReport, error) {
	if err := CheckCases([]string{name}); err != nil {
		return CaseReport{}, err
	}
	prepare := map[string]func(context.Context) (Case, error){
		CaseBuild: l.buildCase, CaseRun: l.runCase, CaseMemory: l.memoryCase, CaseSkew: l.skewCase,
		CaseScale: l.scaleCase, CaseOpinion: l.opinionCase, CaseDelay: l.delayCase, CaseNightly: l.nightlyCase,
		CaseRegions: l.regionsCase,
	}[name]
	if prepare == nil {
		prepare = l.guardCase(name)
	}
	c, err := prepare(ctx)
	if err != nil {
		return CaseReport{}, fmt.Errorf("case %s: %w", name, err)
	}
	c.Touch = cmp.Or(min(c.Touch, l.Touch), l.Touch)
	return Measure(ctx, c, l.Log)
}
