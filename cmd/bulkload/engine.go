package main

import (
	"fmt"
	"os"
	"time"

	"bulkload/internal/cli/settings"
	"bulkload/internal/cli/usage"
	"bulkload/internal/model/fail"
	"bulkload/internal/model/spec"
	"bulkload/internal/pipeline/estimate"
	"bulkload/internal/pipeline/mapreduce"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// engineFlags are the flags that determine where the HFiles of a run are built.
type engineFlags struct {
	engine       string
	yarn         mapreduce.Settings
	mapMemory    spec.Size
	reduceMemory spec.Size
	onStop       string
}

func (e *engineFlags) add(f *pflag.FlagSet) {
	e.addPlan(f)
	settings.Bind(f, settings.To{"yarn-queue": &e.yarn.Queue, "hadoop": &e.yarn.Hadoop, "on-stop": &e.onStop})
}

// addPlan registers the flags of a job's resources.
func (e *engineFlags) addPlan(f *pflag.FlagSet) {
	e.onStop = "detach"
	settings.Bind(f, settings.To{"engine": &e.engine, "map-memory": &e.mapMemory, "reduce-memory": &e.reduceMemory, "maps": &e.yarn.Maps, "reduces": &e.yarn.Reduces})
}

// settings returns the settings of YARN, or nil for a local build.
func (e *engineFlags) settings(f *pflag.FlagSet) (*mapreduce.Settings, error) {
	if e.engine == "local" {
		// Flags that a command does not have are not changed.
		for _, name := range []string{"yarn-queue", "map-memory", "reduce-memory", "maps", "reduces", "hadoop", "on-stop"} {
			if f.Changed(name) {
				return nil, fail.Usage(settings.AboutFlags(fmt.Errorf("--%s needs a build on YARN: give --engine yarn too", name), name, "engine"))
			}
		}
		return nil, nil
	}
	s := e.yarn
	const mega = 1 << 20
	s.KillOnStop = e.onStop == "kill"
	s.MapMemory, s.ReduceMemory = int((e.mapMemory+mega-1)/mega), int((e.reduceMemory+mega-1)/mega)
	if err := s.Validate(); err != nil {
		return nil, fail.Usage(err)
	}
	return &s, nil
}

// predicted returns the prediction of a job on YARN, or nil if the job does not run on YARN or has no rows.
func predicted(y *mapreduce.Settings, e *estimate.Estimate) *mapreduce.Prediction {
	if y == nil || e.Rows == 0 {
		return nil
	}
	text := e.InputBytes
	if e.SampledRows > 0 {
		text = int64(float64(e.SampledText) / float64(e.SampledRows) * float64(e.Rows))
	}
	tables := append([]*estimate.Estimate{e}, e.Tables...)
	work := e.ReadTime
	var shares []float64 // each table gets all records once
	for _, t := range tables {
		work += t.WriteTime
		for _, r := range t.Regions {
			shares = append(shares, r.Share/float64(len(tables)))
		}
	}
	p := y.Predict(e.InputBytes, text*int64(len(tables)), shares, work*time.Duration(e.Workers))
	return &p
}

// newTaskCmd returns the commands that run in the containers of a job on YARN. Users do not run them.
func newTaskCmd(g *globals) *cobra.Command {
	cmd := &cobra.Command{Use: "task", Short: "Run a task of a job on YARN", Hidden: true}
	process := func() mapreduce.Process {
		return mapreduce.Process{Env: os.LookupEnv, Dir: ".", In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Log: g.Logger()}
	}
	cmd.AddCommand(
		&cobra.Command{Use: "map", Short: "Read a share of the input", Args: usage.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return process().Map(cmd.Context()) }},
		&cobra.Command{Use: "reduce", Short: "Write the HFiles of some regions", Args: usage.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return process().Reduce(cmd.Context()) }},
	)
	return cmd
}
