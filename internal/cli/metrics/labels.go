package metrics

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

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
