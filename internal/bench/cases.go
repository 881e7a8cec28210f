package bench

import (
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
)

// Cases are the names of all cases, in the order in which they should run.
func Cases() []string {
	return []string{CaseBuild, CaseRun, CaseMemory, CaseSkew, CaseScale, CaseOpinion, CaseDelay}
}

// CheckCases reports the first name that is none.
func CheckCases(names []string) error {
	for _, name := range names {
		if !slices.Contains(Cases(), name) {
			return fmt.Errorf("case %q is none of %v", name, Cases())
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
		CaseScale: l.scaleCase, CaseOpinion: l.opinionCase, CaseDelay: l.delayCase,
	}[name]
	c, err := prepare(ctx)
	if err != nil {
		return CaseReport{}, fmt.Errorf("case %s: %w", name, err)
	}
	return Measure(ctx, c, l.Log)
}
