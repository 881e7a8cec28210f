package manifests

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
)

// loadPods returns the pods of a nightly load and of a single one, by the names of their objects.
func loadPods(t *testing.T, values string) map[string]core.PodSpec {
	t.Helper()
	all := chartObjects(t, `
hadoop: {configMap: hadoop-conf}
jobs: {check: "table: check\n"}
nightly: {check: {schedule: "30 2 * * *", input: "hdfs:///user/tina/check/20261120"}}
once: {check-again: {job: check, input: "hdfs:///user/tina/check/20261119"}}
`+values)
	pods := map[string]core.PodSpec{}
	for _, c := range find[*batch.CronJob](t, all) {
		pods[c.Name] = c.Spec.JobTemplate.Spec.Template.Spec
	}
	for _, j := range find[*batch.Job](t, all) {
		pods[j.Name] = j.Spec.Template.Spec
	}
	return pods
}

// TestChartRejects checks that a claim takes the records that loads set aside, a file for each load, and that nothing else is changed by it.
func TestChartRejects(t *testing.T) {
	without, with := loadPods(t, ""), loadPods(t, "rejects: {claim: set-aside}\n")
	if earlier := loadPods(t, "rejects: null\n"); !reflect.DeepEqual(earlier, without) { // with --reuse-values of a chart without it
		t.Errorf("values of an earlier chart give %+v", earlier)
	}
	if len(without) != 2 || len(with) != 2 {
		t.Fatalf("%d and %d pods", len(without), len(with))
	}
	for name, pod := range with {
		plain := without[name]
		file := arg(pod.Containers[0].Args, "--reject-file")
		if v := volumeOf(pod, file); v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != "set-aside" {
			t.Errorf("%s is on %+v", file, v)
		}
		if !strings.Contains(file, "/"+name+"-{{ .Date }}") {
			t.Errorf("%s could be another load's than %s", file, name)
		}
		if got := arg(plain.Containers[0].Args, "--reject-file"); got != "/spill/rejects-{{ .Date }}.jsonl" {
			t.Errorf("without a claim: %s", got)
		}
		c := &pod.Containers[0]
		c.Args[slices.Index(c.Args, "--reject-file="+file)] = "--reject-file=/spill/rejects-{{ .Date }}.jsonl"
		c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return m.Name == "rejects" })
		pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == "rejects" })
		if !reflect.DeepEqual(pod, plain) {
			t.Errorf("%s: with a claim\n%s\nwithout\n%s", name, text(t, pod), text(t, plain))
		}
	}
}
