package lineage

import (
	"cmp"
	"fmt"
	"log/slog"
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
	"github.com/spf13/cobra"
)

// describeRun is what all events of a run have. A name is the job's, empty for one of its subject; begin and end are the time that the
// run is for; zero: not known.
func describeRun(log *slog.Logger, p Producer, w Subject, name string, begin, end time.Time, env func(string) string) Event {
	e := Event{Producer: p.URI(), Schema: Schema, Inputs: inputDatasets(w), Outputs: outputDatasets(w)}
	var err error
	if e.Run.ID, err = NewRunID(); err != nil {
		log.Warn("no run id for OpenLineage", "error", err)
	}
	e.Run.Facets.Engine = &EngineFacet{Facet: p.Facet(EngineDef), Name: "bulkload", Version: string(p)}
	if !begin.IsZero() {
		e.Run.Facets.NominalTime = &NominalFacet{Facet: p.Facet(NominalDef), Start: Stamp(begin)}
		if !end.IsZero() {
			e.Run.Facets.NominalTime.End = Stamp(end)
		}
	}
	if e.Run.Facets.Parent, err = parentRun(p, env); err != nil {
		log.Warn("failed to record the parent run in OpenLineage events", "error", err)
	}
	e.Job = Job{Namespace: cmp.Or(env("OPENLINEAGE_NAMESPACE"), "default"), Name: cmp.Or(name, lineageName(w))}
	e.Job.Facets.Type = &TypeFacet{Facet: p.Facet(TypeDef), Processing: "BATCH", Integration: "BULKLOAD", Type: "JOB"}
	e.Job.Facets.Documentation = &DocumentationFacet{Facet: p.Facet(DocumentationDef), Description: documentation(w)}
	return e
}

// parentRun is the run that OPENLINEAGE_PARENT_ID names, or nil.
func parentRun(p Producer, env func(string) string) (*ParentFacet, error) {
	id := env("OPENLINEAGE_PARENT_ID")
	if id == "" {
		return nil, nil
	}
	parent, err := ParseParent(id)
	if err != nil {
		return nil, fmt.Errorf("OPENLINEAGE_PARENT_ID: %w", err)
	}
	f := &ParentFacet{Facet: p.Facet(ParentDef), Run: parent.Run, Job: parent.Job}
	if id := env("OPENLINEAGE_ROOT_PARENT_ID"); id != "" {
		root, err := ParseParent(id)
		if err != nil {
			return f, fmt.Errorf("OPENLINEAGE_ROOT_PARENT_ID: %w", err)
		}
		f.Root = &root
	}
	return f, nil
}

// lineageName is the same for all runs of a table and a key: dates and inputs are not in it.
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

// inputDatasets are the inputs as they were given; of a pattern, the directory that it is looked for in.
func inputDatasets(w Subject) []Dataset {
	list := []Dataset{}
	for _, name := range w.Spec.Inputs {
		if r, ok, err := tablesource.Parse(name); ok {
			d := Dataset{Namespace: hbaseNamespace(w.Env.Conf), Name: name}
			if err == nil && r.Snapshot == "" {
				d.Name = r.Table.Namespace + ":" + r.Table.Qualifier
			}
			list = append(list, d)
			continue
		}
		if i := strings.IndexAny(name, `*?[\`); i >= 0 {
			name = name[:strings.LastIndexByte(name[:i], '/')+1]
			name = cmp.Or(name, ".")
		}
		if d, ok := pathDataset(w.Env.Conf, name); ok && !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// outputDatasets are the tables, or a build's directory.
func outputDatasets(w Subject) []Dataset {
	if w.Command == "build" {
		if d, ok := pathDataset(w.Env.Conf, w.Out); ok {
			return []Dataset{d}
		}
		return []Dataset{}
	}
	list := []Dataset{}
	for _, name := range w.filled() {
		list = append(list, Dataset{Namespace: hbaseNamespace(w.Env.Conf), Name: name})
	}
	return list
}

// hbaseNamespace is a cluster by its ZooKeeper, or by the servers of its RPC registry, whatever the order in which they are listed,
// and by its root in ZooKeeper where that is not HBase's own default.
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

func pathDataset(conf *hdfsio.Conf, name string) (Dataset, bool) {
	if objectstore.IsName(name) {
		p, err := objectstore.Parse(name)
		return Dataset{Namespace: p.Root(), Name: strings.Trim(p.Path, "/")}, err == nil
	}
	l, err := conf.Resolve(name)
	if err != nil {
		return Dataset{}, false // the job says so
	}
	d := Dataset{Namespace: "file", Name: l.Path}
	if !l.Local() {
		d.Namespace = l.Scheme + "://" + l.Authority
	}
	return d, true
}

// withAssertions adds to the inputs what was expected of their records. Of several inputs it is about all of them together.
func withAssertions(e Event, p Producer, o ending.Outcome) Event {
	var list []Assertion
	for _, f := range o.Result.Findings() {
		if f.Status != expectation.Unchecked {
			list = append(list, Assertion{Assertion: f.Expectation, Success: !f.Bad(), Column: f.Column})
		}
	}
	if list == nil {
		return e
	}
	e.Inputs = slices.Clone(e.Inputs)
	for i := range e.Inputs {
		facets := InputFacets{}
		if known := e.Inputs[i].InputFacets; known != nil {
			facets = *known
		}
		facets.Assertions = &AssertionsFacet{Facet: p.Facet(AssertionsDef), Assertions: list}
		e.Inputs[i].InputFacets = &facets
	}
	return e
}

// withAmounts adds columns and amounts to the datasets. What was read of each of several inputs is not known.
func withAmounts(e Event, p Producer, command string, input progress.Amount, o ending.Outcome) Event {
	if o.Result == nil || o.Result.Manifest == nil {
		return e
	}
	m := o.Result.Manifest
	rows, fields := m.Records, columnFields(m)
	if command == "load" {
		rows, fields = m.Digest.Rows, cellFields(m)
	}
	e.Inputs, e.Outputs = slices.Clone(e.Inputs), slices.Clone(e.Outputs)
	if len(e.Inputs) == 1 {
		e.Inputs[0].InputFacets = &InputFacets{Statistics: p.Amount(InputDef, rows, input.Bytes, input.Files)}
	}
	for i := range e.Inputs {
		e.Inputs[i].Facets.Schema = &SchemaFacet{Facet: p.Facet(SchemaDef), Fields: fields}
	}
	written := []*manifest.Manifest{m}
	for _, t := range o.Result.Tables {
		written = append(written, t.Manifest)
	}
	for i, m := range written[:min(len(written), len(e.Outputs))] {
		if m == nil {
			continue
		}
		e.Outputs[i].Facets.Schema = &SchemaFacet{Facet: p.Facet(SchemaDef), Fields: cellFields(m)}
		e.Outputs[i].OutputFacets = &OutputFacets{Statistics: p.Amount(OutputDef, m.Digest.Rows, m.Bytes, int64(m.HFiles))}
	}
	return e
}

func columnFields(m *manifest.Manifest) []Field {
	fields := []Field{}
	for _, c := range m.Columns {
		fields = append(fields, Field{Name: c})
	}
	return fields
}

// cellFields are the columns of a table's rows, family:qualifier. Qualifiers that records give are not known.
func cellFields(m *manifest.Manifest) []Field {
	fields := []Field{}
	for _, c := range m.CellNames() {
		fields = append(fields, Field{Name: c.Family + ":" + c.Qualifier})
	}
	return fields
}

// nominal is the time that a run is for: the day that was named or that its inputs have in them. The end is zero where a
// time of day was given: it does not say for how long.
func nominal(cmd *cobra.Command) (begin, end time.Time) {
	s := settings.Of(cmd)
	if !s.Dated && s.Origins["date"] == "" {
		return begin, end
	}
	zone := time.Local
	if f := cmd.Flags().Lookup("time-zone"); f != nil && f.Value.String() != "" {
		if z, err := time.LoadLocation(f.Value.String()); err == nil {
			zone = z
		}
	}
	at := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
	}
	if s.Day.Whole() == s.Day.String() {
		end = at(s.Day.T.AddDate(0, 0, 1))
	}
	return at(s.Day.T), end
}
