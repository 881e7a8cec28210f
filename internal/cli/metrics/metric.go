package metrics

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"
)

// metric is an entry of a table of metrics. Its value is computed from S.
type metric[S any] struct {
	name   string
	help   string
	kind   prometheus.ValueType // 0: a gauge
	labels []string
	// report sets a value for each set of label values. If it sets none, the metric is left out.
	report func(s S, set func(v float64, labels ...string))
}

// collector collects a table of metrics from the result of now.
type collector[S any] struct {
	all  []metric[S]
	now  func() S
	desc []*prometheus.Desc
}

func newCollector[S any](all []metric[S], now func() S) *collector[S] {
	c := &collector[S]{all: all, now: now}
	for _, m := range all {
		c.desc = append(c.desc, prometheus.NewDesc(m.name, m.help, m.labels, nil))
	}
	return c
}

func (c *collector[S]) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.desc {
		to <- d
	}
}

func (c *collector[S]) Collect(to chan<- prometheus.Metric) {
	s := c.now()
	for i, m := range c.all {
		m.report(s, func(v float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(c.desc[i], cmp.Or(m.kind, prometheus.GaugeValue), v, labels...)
		})
	}
}

// one returns the function that sets the value of a metric without labels.
func one[S any](f func(S) float64) func(S, func(float64, ...string)) {
	return func(s S, set func(float64, ...string)) { set(f(s)) }
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
