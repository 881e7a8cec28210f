package release

import (
	"fmt"
	"regexp"
	"strings"
)

// chartVersions matches the lines of Chart.yaml with the versions of the chart and of the program.
var chartVersions = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart packs the Helm chart like helm package --version --app-version. The chart installs the image of this version.
func (m *maker) chart() error {
	var files []File
	set := 0
	for _, f := range m.common {
		name, ok := strings.CutPrefix(f.Name, "charts/bulkload/")
		if !ok {
			continue
		}
		if name == "Chart.yaml" {
			set = len(chartVersions.FindAll(f.Data, -1))
			f.Data = chartVersions.ReplaceAll(f.Data, []byte(`${1}: "`+m.Version+`"`))
		}
		files = append(files, File{Name: name, Data: f.Data})
	}
	if set != 2 {
		return fmt.Errorf("charts/bulkload/Chart.yaml has %d lines version and appVersion, want 2", set)
	}
	data, err := Archive("bulkload", files, m.Date)
	if err != nil {
		return err
	}
	return m.write("bulkload-"+m.Version+".tgz", data)
}
