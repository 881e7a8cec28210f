package share

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/build"
	"bulkload/internal/test/jobtest"
	"bulkload/internal/test/testcheck"
	"bulkload/pkg/source"
)

// swapping are files. Their input changes when it is looked at for the second time.
type swapping struct {
	build.Files
	looks int
	swap  func()
}

func (s *swapping) Source(input string) (source.FS, string, error) {
	if s.looks++; s.looks == 2 {
		s.swap()
	}
	return s.Files.Source(input)
}

// TestOpenedInputIsThePlans replaces the input by a file of the same size and columns, after it was compared with the plan and before it is opened.
func TestOpenedInputIsThePlans(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.csv")
	write := func(name, text string) { testcheck.Must(t, os.WriteFile(name, []byte(text), 0o600)) }
	write(input, "id,name\n1,a\n")
	s := spec.Spec{Inputs: []string{input}, Key: "id", Columns: []string{"id", "name"}}
	p, err := Make(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), []build.Shape{{Families: spec.DefaultFamilies([]string{"f"})}}, build.WorkOptions{})
	testcheck.Must(t, err)
	files := &swapping{Files: jobtest.Env(t), swap: func() {
		write(input+"~", "id,name\n1,b\n")
		testcheck.Must(t, os.Rename(input+"~", input))
	}}
	in, err := p.Open(t.Context(), files, build.WorkOptions{})
	if fail.KindOf(err) != fail.Input || !strings.Contains(fmt.Sprint(err), input) {
		t.Errorf("it is opened: %v", err)
	}
	if in != nil {
		testcheck.Must(t, in.Close())
	}
}

// TestPlanAgain checks that the same command keeps an existing plan, also after regions of a table have split or merged, since files are
// split when they are loaded. Different split points that the user gave make another plan.
func TestPlanAgain(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.csv")
	testcheck.Must(t, os.WriteFile(input, []byte("id,name\n1,a\n2,b\n"), 0o600))
	for name, s := range map[string]spec.Spec{
		"one table":  {Key: "id", Columns: []string{"id", "name"}},
		"two tables": {Key: "id", Columns: []string{"id", "name"}, Table: "t", Tables: []spec.TableSpec{{Table: "u", Key: "name"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s.Inputs = []string{input}
			file := filepath.Join(t.TempDir(), "plan")
			made := func(points ...string) *Plan {
				shape := build.Shape{Families: spec.DefaultFamilies([]string{"f"})}
				for _, p := range points {
					shape.Splits = append(shape.Splits, []byte(p))
				}
				shapes := []build.Shape{shape}
				for range s.Tables {
					shapes = append(shapes, shape)
				}
				p, err := Make(t.Context(), jobtest.Env(t), jobtest.Resolve(t, s), shapes, build.WorkOptions{})
				testcheck.Must(t, err)
				return p
			}
			first, err := made("1", "5").Write(t.Context(), jobtest.Env(t), file, true)
			testcheck.Must(t, err)
			for _, points := range [][]string{{"1", "5"}, {"1", "3", "5"}, {"5"}, nil} {
				again, err := made(points...).Write(t.Context(), jobtest.Env(t), file, true)
				testcheck.Must(t, err)
				if !reflect.DeepEqual(again, first) {
					t.Errorf("regions at %q: %+v, not %+v", points, again, first)
				}
			}
			if _, err := made("5").Write(t.Context(), jobtest.Env(t), file, false); fail.KindOf(err) != fail.Config {
				t.Errorf("other points that were given: %v", err)
			}
		})
	}
}
