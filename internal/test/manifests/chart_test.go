package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// chartObjects renders the chart with values, like helm install, and decodes all of its output.
func chartObjects(t *testing.T, values string) []any {
	t.Helper()
	all, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	var found []any
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasSuffix(name, ".yaml") {
			found = append(found, decoded(t, name, []byte(all[name]))...)
		}
	}
	return found
}

// render returns the texts of all templates.
func render(values string) (map[string]string, error) {
	c, err := loader.Load(root + "/charts/bulkload")
	if err != nil {
		return nil, err
	}
	v, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, err
	}
	full, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "bulkload", Namespace: "etl", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, full)
}

// asExamples are the values with which the chart's output matches examples/kubernetes.
const asExamples = `
image: {tag: 1.0.0}
hadoop: {configMap: hadoop-conf, user: tina}
timeZone: Asia/Shanghai
rejects: {claim: bulkload-rejects}
jobs: {check: "table: check\n"}
nightly:
  check:
    schedule: "30 2 * * *"
    input: 'hdfs:///user/tina/check/{{ .Date "20060102" }}'
serve: {enabled: true}
`

// plain returns a pod without the names that differ between the chart and the examples.
func plain(p *core.PodSpec) core.PodSpec {
	p = p.DeepCopy()
	for i := range p.Containers {
		p.Containers[i].ImagePullPolicy = ""
		slices.SortFunc(p.Containers[i].Env, func(a, b core.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	}
	for i := range p.Volumes {
		if p.Volumes[i].Name == "jobs" {
			p.Volumes[i].ConfigMap.Name = ""
		}
	}
	return *p
}

// TestChartIsTheExamples checks that the chart's nightly load and reader service are those of the examples.
func TestChartIsTheExamples(t *testing.T) {
	all := chartObjects(t, asExamples)
	cron, example := find[*batch.CronJob](t, all)[0], find[*batch.CronJob](t, objects(t, "cronjob.yaml"))[0]
	if got, want := plain(&cron.Spec.JobTemplate.Spec.Template.Spec), plain(&example.Spec.JobTemplate.Spec.Template.Spec); !reflect.DeepEqual(got, want) {
		t.Errorf("the pod of the load is\n%s\nwant\n%s", text(t, got), text(t, want))
	}
	for _, c := range []*batch.CronJob{cron, example} {
		c.ObjectMeta, c.Spec.JobTemplate.ObjectMeta, c.Spec.JobTemplate.Spec.Template = example.ObjectMeta, example.ObjectMeta, core.PodTemplateSpec{}
	}
	if !reflect.DeepEqual(cron, example) {
		t.Errorf("the load is\n%s\nwant\n%s", text(t, cron), text(t, example))
	}
	serve, want := find[*apps.Deployment](t, all)[0].Spec, find[*apps.Deployment](t, objects(t, "serve.yaml"))[0].Spec
	if got, want := plain(&serve.Template.Spec), plain(&want.Template.Spec); !reflect.DeepEqual(got, want) {
		t.Errorf("the pod of the service is\n%s\nwant\n%s", text(t, got), text(t, want))
	}
	if !reflect.DeepEqual(serve.Strategy, want.Strategy) || *serve.Replicas != *want.Replicas {
		t.Errorf("the service is %+v", serve)
	}
}

func text(t *testing.T, o any) string {
	t.Helper()
	b, err := yaml.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestChartSelects checks that the budget, the service and the policy select their pods.
func TestChartSelects(t *testing.T) {
	all := chartObjects(t, asExamples+"networkPolicy: {enabled: true, monitoring: [{namespaceSelector: {}}]}\n")
	labels := find[*apps.Deployment](t, all)[0].Spec.Template.Labels
	load := find[*batch.CronJob](t, all)[0].Spec.JobTemplate.Spec.Template.Labels
	chosen := func(selector, labels map[string]string) bool {
		for k, v := range selector {
			if labels[k] != v {
				return false
			}
		}
		return len(selector) > 0
	}
	for what, selector := range map[string]map[string]string{
		"Deployment": find[*apps.Deployment](t, all)[0].Spec.Selector.MatchLabels,
		"Service":    find[*core.Service](t, all)[0].Spec.Selector,
		"budget":     find[*policy.PodDisruptionBudget](t, all)[0].Spec.Selector.MatchLabels,
	} {
		if !chosen(selector, labels) || chosen(selector, load) {
			t.Errorf("%s selects %v: the service has %v, a load %v", what, selector, labels, load)
		}
	}
	n := find[*networking.NetworkPolicy](t, all)[0].Spec
	if !chosen(n.PodSelector.MatchLabels, labels) || !chosen(n.PodSelector.MatchLabels, load) || len(n.Ingress) != 2 || len(n.Egress) != 1 {
		t.Errorf("policy %+v", n)
	}
	if n := find[*networking.NetworkPolicy](t, chartObjects(t, "hadoop: {configMap: x}\nnetworkPolicy: {enabled: true, to: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}\n"))[0].Spec; len(n.Ingress) != 0 || len(n.Egress) != 2 {
		t.Errorf("policy of loads alone %+v", n)
	}
}

// TestChartKerberos checks that the keytab is from a secret, and that no user is named then.
func TestChartKerberos(t *testing.T) {
	all := chartObjects(t, strings.Replace(asExamples, ", user: tina", "", 1)+"kerberos: {principal: etl@EXAMPLE.COM, keytabSecret: bulkload-keytab, krb5ConfigMap: krb5-conf}\n")
	patch := find[*batch.CronJob](t, objects(t, "secured.yaml"))[0].Spec.JobTemplate.Spec.Template.Spec
	pod := find[*batch.CronJob](t, all)[0].Spec.JobTemplate.Spec.Template.Spec
	for _, v := range patch.Volumes {
		if !slices.ContainsFunc(pod.Volumes, func(o core.Volume) bool { return reflect.DeepEqual(o, v) }) {
			t.Errorf("the pod lacks the volume %+v", v)
		}
	}
	for _, e := range patch.Containers[0].Env {
		if !slices.Contains(pod.Containers[0].Env, e) {
			t.Errorf("the pod lacks %+v", e)
		}
	}
	for _, m := range patch.Containers[0].VolumeMounts {
		if !slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(o core.VolumeMount) bool { return reflect.DeepEqual(o, m) }) {
			t.Errorf("the pod lacks %+v", m)
		}
	}
	if slices.ContainsFunc(pod.Containers[0].Env, func(e core.EnvVar) bool { return e.Name == "HADOOP_USER_NAME" }) {
		t.Error("a user is named")
	}
}

// TestChartParts checks that each phase is the Job of the examples' step.
func TestChartParts(t *testing.T) {
	const values = `
image: {tag: 1.0.0}
hadoop: {configMap: hadoop-conf, user: tina}
jobs: {check: "table: check\n"}
parts: {phase: PHASE, name: check-20261120, job: check, input: 'hdfs:///user/tina/check/20261120', count: 7}
`
	examples := find[*batch.Job](t, objects(t, "shares.yaml"))
	for i, phase := range []string{"plan", "shares", "merge"} {
		jobs := find[*batch.Job](t, chartObjects(t, strings.Replace(values, "PHASE", phase, 1)))
		got, want := jobs[0].Spec.Template.Spec.Containers[0].Args, examples[i].Spec.Template.Spec.Containers[0].Args
		slices.Sort(got)
		slices.Sort(want)
		if len(jobs) != 1 || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", phase, got, want)
		}
		if a, b := jobs[0].Spec.Completions, examples[i].Spec.Completions; *a != *b {
			t.Errorf("%s: %d pods, want %d", phase, *a, *b)
		}
	}
	load := find[*batch.Job](t, chartObjects(t, strings.Replace(values, "PHASE", "load", 1)))[0].Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(load, "hdfs:///tmp/check-20261120.hfiles") {
		t.Errorf("load: %q", load)
	}
}

// TestChartTexts checks that files have the texts of the values but for empty lines at the end, whatever white space they begin with.
func TestChartTexts(t *testing.T) {
	for _, want := range []string{"a", "a\n", "  a\nb\n", "\n  a\n\tb\r\n", "", "a: |\n  b\n\n"} {
		quoted, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		files := find[*core.ConfigMap](t, chartObjects(t, fmt.Sprintf("hadoop: {files: {core-site.xml: %s}}\njobs: {check: %[1]s}\n", quoted)))
		for _, got := range []string{files[0].Data["core-site.xml"], files[1].Data["check.yaml"]} {
			if strings.TrimRight(got, "\n") != strings.TrimRight(want, "\n") {
				t.Errorf("a file has %q, want %q", got, want)
			}
		}
	}
}

// TestChartRefuses checks that invalid values are refused by name.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"": "hadoop.configMap, or hadoop.files",
		"hadoop: {configMap: x}\nmemory: 1 gig\n":                                                         "memory",
		"hadoop: {configMap: x}\nnightly: {a: {schedule: '1 * * * *', input: x}}\n":                       "jobs has no a",
		"hadoop: {configMap: x}\njobs: {a: b}\nnightly: {a: {input: x}}\n":                                "schedule",
		"hadoop: {configMap: x}\njobs: {a: b}\nonce: {a: {job: a, input: x}}\nkerberos: {principal: p}\n": "kerberos.keytabSecret",
		"hadoop: {configMap: x}\nnigthly: {}\n":                                                           "nigthly",
		"hadoop: {configMap: x}\nstate: /var/lib/bulkload\n":                                              "state",
		"hadoop: {configMap: x}\nstate: ''\n":                                                             "state",
		"hadoop: {configMap: x}\nparts: {phase: merges}\n":                                                "phase",
		"hadoop: {configMap: x}\njobs: {a: 'family: f'}\nparts: {phase: load, name: b, job: a}\n":         "parts.table",
		"hadoop: {configMap: x}\njobs: {a: 'tables: [{}]'}\nparts: {phase: load, name: b, job: a}\n":      "a has tables",
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", values, err, want)
		}
	}
}

// TestPackaged checks that the chart of a release has its version, is that of the checkout, and installs the image of
// the version.
func TestPackaged(t *testing.T) {
	name, version := os.Getenv("BULKLOAD_CHART"), os.Getenv("BULKLOAD_CHART_VERSION")
	if name == "" {
		t.Skip("TestRelease of internal/release makes a release, whose chart BULKLOAD_CHART names")
	}
	packed, err := loader.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := packed.Validate(); err != nil || packed.Metadata.Version != version || packed.AppVersion() != version {
		t.Errorf("%v: %+v", err, packed.Metadata)
	}
	have, err := loader.Load(root + "/charts/bulkload")
	if err != nil {
		t.Fatal(err)
	}
	have.Metadata.Version, have.Metadata.AppVersion = version, version
	if !reflect.DeepEqual(have.Metadata, packed.Metadata) || !reflect.DeepEqual(have.Values, packed.Values) || !reflect.DeepEqual(have.Templates, packed.Templates) || !bytes.Equal(have.Schema, packed.Schema) {
		t.Error("the packed chart differs from the checkout's")
	}
}
