package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
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

// Labels are the labels of every series of a job. The key "table" is the table's name; the other labels are the
// caller's.
type Labels map[string]string

// taken lists labels that have another meaning here, or that Prometheus sets.
var taken = []string{"table", "further", "phase", "version", "revision", "goversion", "job", "instance", "le", "quantile"}

// ParseLabels parses the caller's name=value pairs and adds the table.
func ParseLabels(table string, pairs []string) (Labels, error) {
	l := Labels{"table": table}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok || value == "":
			return nil, fmt.Errorf("%q is not a name=value", pair)
		case !model.LegacyValidation.IsValidLabelName(name) || strings.HasPrefix(name, "__"):
			return nil, fmt.Errorf("%q: a label's name has letters, digits and underscores, begins with no digit and not with __", pair)
		case slices.Contains(taken, name):
			return nil, fmt.Errorf("%q: the label %s has another meaning: choose another name", pair, name)
		case !model.LabelValue(value).IsValid():
			return nil, fmt.Errorf("label %s: its value is not UTF-8", name)
		}
		if _, ok := l[name]; ok {
			return nil, fmt.Errorf("the label %s is given twice", name)
		}
		l[name] = value
	}
	return l, nil
}
