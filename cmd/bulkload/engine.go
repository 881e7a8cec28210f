package main

import (
	"fmt"

	"bulkload/internal/settings"
	"bulkload/pkg/mapreduce"
	"bulkload/pkg/spec"

	"github.com/spf13/pflag"
)

// engineFlags say where the HFiles of a run are built.
type engineFlags struct {
	engine       string
	yarn         mapreduce.Settings
	mapMemory    spec.Size
	reduceMemory spec.Size
	onStop       string
}

func (e *engineFlags) add(f *pflag.FlagSet) {
	f.StringVar(&e.engine, "engine", "local", "where HFiles are built: local (in this process), or yarn (by one MapReduce job, whose input is on HDFS)")
	f.StringVar(&e.yarn.Queue, "yarn-queue", "", "with --engine yarn: queue (default: the cluster's choice)")
	f.Var(&e.mapMemory, "map-memory", "with --engine yarn: container of a map task (default 1GiB)")
	f.Var(&e.reduceMemory, "reduce-memory", "with --engine yarn: container of a reduce task (default 1GiB)")
	f.IntVar(&e.yarn.Maps, "maps", 0, "with --engine yarn: map tasks (default: by the size of the input)")
	f.IntVar(&e.yarn.Reduces, "reduces", 0, "with --engine yarn: reduce tasks, at most the number of regions (default: by the size of the input)")
	f.StringVar(&e.yarn.Hadoop, "hadoop", "", "with --engine yarn: Hadoop's client, its program hadoop or mapred or its home directory (default: HADOOP_HOME, PATH, the places of distributions)")
	f.StringVar(&e.onStop, "on-stop", "detach", "with --engine yarn, when the command is stopped by a signal: detach (the application continues, and the same command attaches to it) or kill")
}

// settings are those of YARN, nil for a build here.
func (e *engineFlags) settings(f *pflag.FlagSet) (*mapreduce.Settings, error) {
	switch e.engine {
	case "local":
		for _, name := range []string{"yarn-queue", "map-memory", "reduce-memory", "maps", "reduces", "hadoop", "on-stop"} {
			if f.Changed(name) {
				return nil, usageError{settings.AboutFlags(fmt.Errorf("--%s is of a build on YARN: give --engine yarn too", name), name, "engine")}
			}
		}
		return nil, nil
	case "yarn":
	default:
		return nil, usageError{settings.AboutFlags(fmt.Errorf("--engine %q is none of local, yarn", e.engine), "engine")}
	}
	if e.onStop != "detach" && e.onStop != "kill" {
		return nil, usageError{settings.AboutFlags(fmt.Errorf("--on-stop %q is none of detach, kill", e.onStop), "on-stop")}
	}
	s := e.yarn
	const mega = 1 << 20
	s.KillOnStop = e.onStop == "kill"
	s.MapMemory, s.ReduceMemory = int((e.mapMemory+mega-1)/mega), int((e.reduceMemory+mega-1)/mega)
	if err := s.Validate(); err != nil {
		return nil, usageError{err}
	}
	return &s, nil
}
