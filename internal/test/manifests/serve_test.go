package manifests

import (
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
)

// TestServe checks that probes and the service name ports of the pod, and that the pod's grace period covers its
// draining.
func TestServe(t *testing.T) {
	all := objects(t, "serve.yaml")
	answers(t, find[*apps.Deployment](t, all)[0], find[*core.Service](t, all)[0], 28+5)
}

// TestChartConsole checks that the chart's console is off by default, that it answers like serve, reads the state that pods share, and writes
// only into its cache.
func TestChartConsole(t *testing.T) {
	const values = "hadoop: {configMap: hadoop-conf}\nnetworkPolicy: {enabled: true}\n"
	for _, o := range chartObjects(t, values) {
		if _, ok := o.(*apps.Deployment); ok {
			t.Error("it is on by default")
		}
	}
	all := chartObjects(t, values+"console: {enabled: true, args: [--control]}\n")
	d := find[*apps.Deployment](t, all)[0]
	answers(t, d, find[*core.Service](t, all)[0], 23+5)
	args := strings.Join(d.Spec.Template.Spec.Containers[0].Args, " ")
	for _, want := range []string{"console --state=hbase:bulkload_state ", " --clients=/etc/bulkload/clients/clients.yaml ", " --tls-cert=", " --audit=", " --control"} {
		if !strings.Contains(args, want) {
			t.Errorf("%s lacks %s", args, want)
		}
	}
	if n := find[*networking.NetworkPolicy](t, all)[0].Spec; len(n.Ingress) != 1 || n.Ingress[0].Ports[0].Port.IntVal != 8443 {
		t.Errorf("policy %+v", n)
	}
}

// answers checks a service of pods that answer by HTTPS, with the given grace period in seconds.
func answers(t *testing.T, d *apps.Deployment, service *core.Service, ends int64) {
	t.Helper()
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	args := " " + strings.Join(c.Args, " ")
	if !strings.Contains(args, " --listen=:8443 ") || ports["https"] != 8443 || !strings.Contains(args, " --admin-listen=:8092 ") || ports["admin"] != 8092 {
		t.Errorf("ports %v of %s", ports, args)
	}
	for path, p := range map[string]*core.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if p.HTTPGet.Path != path || ports[p.HTTPGet.Port.StrVal] != 8092 {
			t.Errorf("probe %s: %+v", path, p.HTTPGet)
		}
	}
	for name, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[name] != value || service.Spec.Selector[name] != value {
			t.Errorf("label %s", name)
		}
	}
	if service.Spec.Ports[0].TargetPort.StrVal != "https" || *pod.TerminationGracePeriodSeconds < ends {
		t.Errorf("%+v, %d s", service.Spec.Ports, *pod.TerminationGracePeriodSeconds)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] || !m.ReadOnly && m.Name != "cache" {
			t.Errorf("mount %+v", m)
		}
	}
}
