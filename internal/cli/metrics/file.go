package metrics

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"time"

	"bulkload/internal/base/durable"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxFormer is the number of bytes read from an earlier file: a file of this package has a few kilobytes.
const maxFormer = 1 << 20

// WriteFile writes a run's metrics for node_exporter's textfile collector. It writes to another name in the same directory
// first. It keeps the time of the last success from the earlier file for the same labels, unless the run has a newer one.
// If the earlier file cannot be read, WriteFile still writes the file and returns an error.
func WriteFile(name string, r Run, l Labels) error {
	name, err := durable.Target(name)
	if err != nil {
		return fmt.Errorf("metrics file: %w", err)
	}
	former, formerErr := lastSuccess(name, l)
	if former.After(r.Success) {
		r.Success = former
	}
	registry := prometheus.NewPedanticRegistry()
	if err := prometheus.WrapRegistererWith(prometheus.Labels(l), registry).Register(r.Collector()); err != nil {
		return fmt.Errorf("metrics file %s: %w", name, err)
	}
	if err := prometheus.WriteToTextfile(name, registry); err != nil {
		return fmt.Errorf("metrics file %s: %w", name, err)
	}
	return formerErr
}

// lastSuccess returns the time of the last success in a file for these labels, or zero if there is none.
func lastSuccess(name string, l Labels) (time.Time, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the last success is lost: %w", err)
	}
	defer f.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(f, maxFormer))
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the last success is lost: former metrics file %s: %w", name, err)
	}
	for _, m := range families[lastRun[0].name].GetMetric() {
		if maps.Equal(labelsOf(m), l) {
			return time.UnixMilli(int64(math.Round(m.GetGauge().GetValue() * 1000))), nil
		}
	}
	return time.Time{}, nil
}

func labelsOf(m *dto.Metric) Labels {
	l := Labels{"table": ""} // an empty label and a missing one are the same
	for _, pair := range m.GetLabel() {
		l[pair.GetName()] = pair.GetValue()
	}
	return l
}
