package lineage

import (
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"bulkload/internal/cli/ending"
	"bulkload/internal/cli/settings"
	"bulkload/internal/formats/expectation"
	"bulkload/internal/hbase/cluster"
	"bulkload/internal/model/manifest"
	"bulkload/internal/model/progress"
	"bulkload/internal/objectstore"
	"bulkload/internal/pipeline/tablesource"
	"bulkload/pkg/hdfsio"
	"bulkload/pkg/keygen"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
)

// describeRun returns the fields that all events of a run share. name is the job's name; if it is empty, the name is derived from the
// subject. begin and end are the nominal time of the run; zero: not known.
func describeRun(log *slog.Logger, p producer, w Subject, name string, begin, end time.Time, env func(string) string) Event {
	e := Event{Producer: p.URI(), Schema: schema, Inputs: inputDatasets(w), Outputs: outputDatasets(w)}
	var err error
	if e.Run.ID, err = newRunID(); err != nil {
		log.Warn("no run id for OpenLineage", "error", err)
	}
	e.Run.Facets.Engine = &engineFacet{Facet: p.Facet(engineDef), Name: "bulkload", Version: string(p)}
	if !begin.IsZero() {
		e.Run.Facets.NominalTime = &nominalFacet{Facet: p.Facet(nominalDef), Start: stamp(begin)}
		if !end.IsZero() {
			e.Run.Facets.NominalTime.End = stamp(end)
		}
	}
	if e.Run.Facets.Parent, err = parentRun(p, env); err != nil {
		log.Warn("failed to record the parent run in OpenLineage events", "error", err)
	}
	e.Job = job{jobID: jobID{Namespace: cmp.Or(env("OPENLINEAGE_NAMESPACE"), "default"), Name: cmp.Or(name, lineageName(w))}}
	e.Job.Facets.Type = &typeFacet{Facet: p.Facet(typeDef), Processing: "BATCH", Integration: "BULKLOAD", Type: "JOB"}
	e.Job.Facets.Documentation = &documentationFacet{Facet: p.Facet(documentationDef), Description: documentation(w)}
	return e
}

// parentRun returns the run that OPENLINEAGE_PARENT_ID names, or nil.
func parentRun(p producer, env func(string) string) (*parentFacet, error) {
	id := env("OPENLINEAGE_PARENT_ID")
	if id == "" {
		return nil, nil
	}
	parent, err := parseParent(id)
	if err != nil {
		return nil, fmt.Errorf("OPENLINEAGE_PARENT_ID: %w", err)
	}
	f := &parentFacet{Facet: p.Facet(parentDef), rootFacet: parent}
	if id := env("OPENLINEAGE_ROOT_PARENT_ID"); id != "" {
		root, err := parseParent(id)
		if err != nil {
			return f, fmt.Errorf("OPENLINEAGE_ROOT_PARENT_ID: %w", err)
		}
		f.Root = &root
	}
	return f, nil
}

// newRunID returns a new id of a run. Later ids sort after earlier ones.
func newRunID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// parseParent parses namespace/job/run, the format of Airflow's macro lineage_parent_id. Only the namespace may have
// slashes.
func parseParent(s string) (rootFacet, error) {
	rest, run := cutLast(s)
	namespace, job := cutLast(rest)
	if namespace == "" || job == "" {
		return rootFacet{}, fmt.Errorf("%q is not of the form namespace/job/run", s)
	}
	if err := uuid.Validate(run); err != nil {
		return rootFacet{}, fmt.Errorf("%q: the run %q is not a UUID", s, run)
	}
	return rootFacet{Run: runID{run}, Job: jobID{Namespace: namespace, Name: job}}, nil
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, '/')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

// lineageName returns the job's name. It is the same for all runs of a table and a key: it has no dates and no
// inputs.
func lineageName(w Subject) string {
	parts := []string{"bulkload", w.Command}
	if table := w.Table(); table != "" {
		parts = append(parts, table)
	}
	if w.Spec.Key != "" {
		key := w.Spec.Key
		if expr, err := keygen.Parse(key); err == nil {
			key = fmt.Sprint(expr)
		}
		parts = append(parts, fmt.Sprintf("%08x", uint32(xxhash.Sum64String(key))))
	}
	return strings.Join(parts, ".")
}

func documentation(w Subject) string {
	text := "Loads exports into the HBase table " + w.Table() + ". Row key: " + w.Spec.Key
	switch w.Command {
	case "build":
		text = "Builds HFiles of exports. Row key: " + w.Spec.Key
	case "load":
		return "Loads HFiles into the HBase table " + w.Table() + "."
	}
	if w.Spec.Filter != "" {
		text += ". Filter: " + w.Spec.Filter
	}
	return text
}

// inputDatasets returns the inputs as they were given. For a pattern it returns the directory that the pattern
// searches. Standard input and pipes are no datasets.
func inputDatasets(w Subject) []dataset {
	list := []dataset{}
	for _, name := range w.Spec.Inputs {
		if r, ok, err := tablesource.Parse(name); ok {
			d := dataset{Namespace: hbaseNamespace(w.Env.Conf), Name: name}
			if err == nil && r.Snapshot == "" {
				d.Name = r.Table.Namespace + ":" + r.Table.Qualifier
			}
			list = append(list, d)
			continue
		}
		mode, found := localMode(w.Env.Conf, name)
		if streamed(name, mode) {
			continue
		}
		if i := strings.IndexAny(name, `*?[\`); i >= 0 && !found { // a file with this name is not a pattern
			name = cmp.Or(name[:strings.LastIndexByte(name[:i], '/')+1], ".")
		}
		if d, ok := pathDataset(w.Env.Conf, name); ok && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// localMode returns the mode of a local file or directory; found is false if it does not exist.
func localMode(conf *hdfsio.Conf, name string) (mode fs.FileMode, found bool) {
	if objectstore.IsName(name) {
		return 0, false
	}
	l, err := conf.Resolve(name)
	if err != nil || !l.Local() {
		return 0, false
	}
	info, err := os.Stat(l.Path)
	if err != nil {
		return 0, false
	}
	return info.Mode(), true
}

// streamed reports whether an input is standard input, a pipe or a device.
func streamed(name string, mode fs.FileMode) bool {
	return name == "-" || mode&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0
}

// hasStreams reports whether a part of the records comes from no dataset.
func hasStreams(w Subject) bool {
	return slices.ContainsFunc(w.Spec.Inputs, func(name string) bool {
		mode, _ := localMode(w.Env.Conf, name)
		return streamed(name, mode)
	})
}

func outputDatasets(w Subject) []dataset {
	if w.Command == "build" {
		if d, ok := pathDataset(w.Env.Conf, w.Out); ok {
			return []dataset{d}
		}
		return []dataset{}
	}
	list := []dataset{}
	for _, name := range w.filled() {
		list = append(list, dataset{Namespace: hbaseNamespace(w.Env.Conf), Name: name})
	}
	return list
}

// hbaseNamespace returns the namespace of a cluster. It has the ZooKeeper servers, or the servers of the RPC registry, independent
// of their order, and the root in ZooKeeper if that is not HBase's default.
func hbaseNamespace(conf *hdfsio.Conf) string {
	servers := strings.Split(conf.Quorum(), ",")
	registry, err := cluster.FindRegistry(conf)
	asked := err == nil && len(registry.Servers) > 0
	if asked {
		servers = slices.Clone(registry.Servers)
	}
	slices.Sort(servers)
	namespace := "hbase://" + strings.Join(servers, ",")
	if root := conf.Znode(); root != "/hbase" && !asked {
		namespace += root
	}
	return namespace
}

func pathDataset(conf *hdfsio.Conf, name string) (dataset, bool) {
	if objectstore.IsName(name) {
		p, err := objectstore.Parse(name)
		return dataset{Namespace: p.Root(), Name: strings.Trim(p.Path, "/")}, err == nil
	}
	l, err := conf.Resolve(name)
	if err != nil {
		return dataset{}, false // the job reports the error
	}
	d := dataset{Namespace: "file", Name: l.Path}
	if !l.Local() {
		d.Namespace = l.Scheme + "://" + l.Authority
	}
	return d, true
}

// withAssertions adds the expectations to the inputs. With several inputs, the expectations are about all of them
// together.
func withAssertions(e Event, p producer, o ending.Outcome) Event {
	var list []assertion
	for _, f := range o.Result.Findings() {
		if f.Status != expectation.Unchecked {
			list = append(list, assertion{Assertion: f.Expectation, Success: !f.Bad(), Column: f.Column})
		}
	}
	if list == nil {
		return e
	}
	e.Inputs = slices.Clone(e.Inputs)
	for i := range e.Inputs {
		facets := inputFacets{}
		if known := e.Inputs[i].InputFacets; known != nil {
			facets = *known
		}
		facets.Assertions = &assertionsFacet{Facet: p.Facet(assertionsDef), Assertions: list}
		e.Inputs[i].InputFacets = &facets
	}
	return e
}

// withAmounts adds columns and amounts to the datasets. With several inputs, the amount read from each one is not
// known.
func withAmounts(e Event, p producer, command string, input progress.Amount, o ending.Outcome) Event {
	r := o.Result.OfRun()
	if r == nil || r.Manifest == nil {
		return e
	}
	m := r.Manifest
	rows, fields := m.Records, columnFields(m)
	if command == "load" {
		rows, fields = m.Digest.Rows, cellFields(m)
	}
	e.Inputs, e.Outputs = slices.Clone(e.Inputs), slices.Clone(e.Outputs)
	if len(e.Inputs) == 1 {
		e.Inputs[0].InputFacets = &inputFacets{Statistics: &statisticsFacet{p.Facet(inputDef), rows, input.Bytes, input.Files}}
	}
	for i := range e.Inputs {
		e.Inputs[i].Facets.Schema = &schemaFacet{Facet: p.Facet(schemaDef), Fields: fields}
	}
	written := []*manifest.Manifest{m}
	for _, t := range r.Tables {
		written = append(written, t.Manifest)
	}
	if command == "build" {
		written = []*manifest.Manifest{together(written)}
	}
	for i, m := range written[:min(len(written), len(e.Outputs))] {
		if m == nil {
			continue
		}
		e.Outputs[i].Facets.Schema = &schemaFacet{Facet: p.Facet(schemaDef), Fields: cellFields(m)}
		e.Outputs[i].OutputFacets = &outputFacets{Statistics: &statisticsFacet{p.Facet(outputDef), m.Digest.Rows, m.Bytes, int64(m.HFiles)}}
	}
	return e
}

// together returns the amounts and the cells of the files of all tables, which a build has in one directory.
func together(all []*manifest.Manifest) *manifest.Manifest {
	sum := &manifest.Manifest{}
	for _, m := range all {
		if m == nil {
			continue
		}
		cells := sum.Cells
		for _, c := range m.CellNames() {
			if !slices.Contains(cells, c) {
				cells = append(cells, c)
			}
		}
		sum.Digest.Add(m.Digest)
		sum.Bytes, sum.HFiles, sum.Cells = sum.Bytes+m.Bytes, sum.HFiles+m.HFiles, cells
	}
	return sum
}

func columnFields(m *manifest.Manifest) []field {
	fields := []field{}
	for _, c := range m.Columns {
		fields = append(fields, field{Name: c})
	}
	return fields
}

// cellFields returns the columns of a table's rows, as family:qualifier. It leaves out qualifiers that records
// supply, which are not known.
func cellFields(m *manifest.Manifest) []field {
	fields := []field{}
	for _, c := range m.CellNames() {
		fields = append(fields, field{Name: c.Family + ":" + c.Qualifier})
	}
	return fields
}

// nominal returns the nominal time of a run: the day that was given, or the day in the names of its inputs. The end is
// zero if a time of day was given, since that does not define a duration.
func nominal(cmd *cobra.Command) (begin, end time.Time) {
	s := settings.Of(cmd)
	if !s.Dated && s.Origins["date"] == "" {
		return begin, end
	}
	at := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, s.Zone)
	}
	if s.Day.Whole() == s.Day.String() {
		end = at(s.Day.T.AddDate(0, 0, 1))
	}
	return at(s.Day.T), end
}
