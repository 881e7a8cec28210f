package manifests

import (
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

// TestServe: probes and the service name ports that the pod has, and the pod is left alone for as long as it drains.
func TestServe(t *testing.T) {
	all := objects(t, "serve.yaml")
	d, service := find[*apps.Deployment](t, all)[0], find[*core.Service](t, all)[0]
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
	if service.Spec.Ports[0].TargetPort.StrVal != "https" || *pod.TerminationGracePeriodSeconds < 28+5 {
		t.Errorf("%+v, %d s", service.Spec.Ports, *pod.TerminationGracePeriodSeconds)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] || !m.ReadOnly {
			t.Errorf("mount %+v", m)
		}
	}
}
