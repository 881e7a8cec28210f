package manifests

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// objects decodes every document of a file; unknown or duplicate fields are errors.
func objects(t *testing.T, name string) (all []any) {
	t.Helper()
	b, err := os.ReadFile(root + "/examples/kubernetes/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, name, b)
}

// decoded returns the documents of a text.
func decoded(t *testing.T, name string, b []byte) (all []any) {
	t.Helper()
	for doc := range bytes.SplitSeq(append([]byte("\n"), b...), []byte("\n---\n")) {
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		var m meta.TypeMeta
		if err := yaml.Unmarshal(doc, &m); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var o any
		switch m.APIVersion + "/" + m.Kind {
		case "batch/v1/Job":
			o = &batch.Job{}
		case "batch/v1/CronJob":
			o = &batch.CronJob{}
		case "apps/v1/Deployment":
			o = &apps.Deployment{}
		case "policy/v1/PodDisruptionBudget":
			o = &policy.PodDisruptionBudget{}
		case "networking.k8s.io/v1/NetworkPolicy":
			o = &networking.NetworkPolicy{}
		case "v1/Service":
			o = &core.Service{}
		case "v1/ConfigMap":
			o = &core.ConfigMap{}
		case "v1/PersistentVolumeClaim":
			o = &core.PersistentVolumeClaim{}
		default:
			t.Fatalf("%s: unexpected kind %s %s", name, m.APIVersion, m.Kind)
		}
		if err := yaml.UnmarshalStrict(doc, o); err != nil {
			t.Fatalf("%s, %s: %v", name, m.Kind, err)
		}
		all = append(all, o)
	}
	return all
}

func find[T any](t *testing.T, all []any) (found []T) {
	t.Helper()
	for _, o := range all {
		if x, ok := o.(T); ok {
			found = append(found, x)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no %T", *new(T))
	}
	return found
}

// stopLimit is the time limit in seconds for the program to stop, which internal/jobs/job keeps.
const stopLimit = 15

// TestJob decodes the Job and checks the settings that depend on the program.
func TestJob(t *testing.T) {
	all := objects(t, "job.yaml")
	spec := find[*batch.Job](t, all)[0].Spec
	pod := spec.Template.Spec
	if pod.RestartPolicy != core.RestartPolicyNever {
		t.Errorf("restartPolicy %s: a podFailurePolicy needs Never", pod.RestartPolicy)
	}
	if g := pod.TerminationGracePeriodSeconds; g == nil || *g < stopLimit+10 {
		t.Errorf("grace period %v is too near the %d s that a stop takes", g, stopLimit)
	}
	c := pod.Containers[0]
	for _, rule := range spec.PodFailurePolicy.Rules {
		if codes := rule.OnExitCodes; codes != nil {
			if !slices.Equal(codes.Values, []int32{2, 3, 4, 5, 8}) || *codes.ContainerName != c.Name || rule.Action != batch.PodFailurePolicyActionFailJob || codes.Operator != batch.PodFailurePolicyOnExitCodesOpIn {
				t.Errorf("rule %+v", rule)
			}
		}
	}
	volumes := map[string]core.Volume{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v
	}
	mounts := map[string]core.VolumeMount{}
	for _, m := range c.VolumeMounts {
		if _, ok := volumes[m.Name]; !ok {
			t.Errorf("volume %s is mounted and not there", m.Name)
		}
		mounts[m.MountPath] = m
	}
	if state := arg(c.Args, "--state"); !strings.HasPrefix(state, "hbase:") {
		t.Errorf("the state does not outlive the pod: %s", state)
	}
	spill := volumes[mounts["/spill"].Name]
	if spill.EmptyDir == nil || spill.EmptyDir.SizeLimit == nil || spill.EmptyDir.SizeLimit.Cmp(c.Resources.Limits[core.ResourceEphemeralStorage]) > 0 {
		t.Errorf("spill %+v in a limit of %v", spill, c.Resources.Limits)
	}
	if v := volumeOf(pod, arg(c.Args, "--reject-file")); v.PersistentVolumeClaim == nil {
		t.Errorf("records that are set aside go with the pod: they are on %+v", v)
	}
	memory := c.Resources.Limits[core.ResourceMemory]
	budget, ok := strings.CutSuffix(arg(c.Args, "--memory"), "B")
	least := resource.MustParse(budget)
	least.Add(resource.MustParse("128Mi"))
	if !ok || memory.Cmp(least) < 0 {
		t.Errorf("memory limit %v for --memory %s", &memory, budget)
	}
	claims := find[*core.PersistentVolumeClaim](t, objects(t, "config.yaml"))
	for _, m := range pod.Volumes {
		if p := m.PersistentVolumeClaim; p != nil && !slices.ContainsFunc(claims, func(c *core.PersistentVolumeClaim) bool { return c.Name == p.ClaimName }) {
			t.Errorf("claim %s is not in config.yaml", p.ClaimName)
		}
		if m.ConfigMap != nil && !slices.ContainsFunc(find[*core.ConfigMap](t, objects(t, "config.yaml")), func(c *core.ConfigMap) bool { return c.Name == m.ConfigMap.Name }) {
			t.Errorf("config map %s is not in config.yaml", m.ConfigMap.Name)
		}
	}
	s := c.SecurityContext
	if !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !*pod.SecurityContext.RunAsNonRoot {
		t.Errorf("security context %+v %+v", s, pod.SecurityContext)
	}
}

// volumeOf returns the volume of a file in the only container of a pod.
func volumeOf(pod core.PodSpec, file string) (v core.Volume) {
	for _, m := range pod.Containers[0].VolumeMounts {
		if i := slices.IndexFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }); i >= 0 && strings.HasPrefix(file, m.MountPath+"/") && !m.ReadOnly {
			v = pod.Volumes[i]
		}
	}
	return v
}

// TestCronJob checks that the CronJob's Job is the Job, except for the parts that change every night.
func TestCronJob(t *testing.T) {
	job := find[*batch.Job](t, objects(t, "job.yaml"))[0].Spec
	cron := find[*batch.CronJob](t, objects(t, "cronjob.yaml"))[0].Spec
	if cron.ConcurrencyPolicy != batch.ForbidConcurrent || cron.TimeZone == nil {
		t.Errorf("%+v", cron)
	}
	nightly := cron.JobTemplate.Spec
	for _, c := range []*core.Container{&job.Template.Spec.Containers[0], &nightly.Template.Spec.Containers[0]} {
		c.Args = slices.DeleteFunc(c.Args, func(a string) bool {
			return strings.HasPrefix(a, "--date=") || strings.HasPrefix(a, "--time-zone=")
		})
	}
	if !reflect.DeepEqual(job, nightly) {
		t.Errorf("job.yaml has\n%+v\ncronjob.yaml\n%+v", job, nightly)
	}
}

// TestSecured decodes the patch for clusters with Kerberos, and checks that it fits the CronJob.
func TestSecured(t *testing.T) {
	cron := find[*batch.CronJob](t, objects(t, "cronjob.yaml"))[0]
	patch := find[*batch.CronJob](t, objects(t, "secured.yaml"))[0]
	whole, own := cron.Spec.JobTemplate.Spec.Template.Spec, patch.Spec.JobTemplate.Spec.Template.Spec
	c := own.Containers[0]
	if patch.Name != cron.Name || len(own.Containers) != 1 || c.Name != whole.Containers[0].Name {
		t.Errorf("it is of %s, container %s", patch.Name, c.Name)
	}
	mounts := map[string]string{}
	for _, m := range append(slices.Clone(whole.Containers[0].VolumeMounts), c.VolumeMounts...) {
		for name, path := range mounts {
			if name == m.Name || path == m.MountPath {
				t.Errorf("%s at %s is there twice", m.Name, m.MountPath)
			}
		}
		mounts[m.Name] = m.MountPath
	}
	for _, e := range c.Env {
		inside := slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return strings.HasPrefix(e.Value, m.MountPath+"/") })
		if inside == (e.Name == "BULKLOAD_PRINCIPAL") {
			t.Errorf("%s is %s", e.Name, e.Value)
		}
	}
	for _, v := range own.Volumes {
		if _, ok := mounts[v.Name]; !ok {
			t.Errorf("volume %s is not mounted", v.Name)
		}
		if s := v.Secret; s != nil && (s.DefaultMode == nil || *s.DefaultMode&0o007 != 0) {
			t.Errorf("others can read the secret: mode %v", s.DefaultMode)
		}
	}
}

func arg(args []string, flag string) string {
	for _, a := range args {
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			return v
		}
	}
	return ""
}

// TestShares checks that the indexed Job has as many pods as shares, and that each pod's share is its index plus one.
func TestShares(t *testing.T) {
	all := objects(t, "shares.yaml")
	jobs := find[*batch.Job](t, all)
	if len(jobs) != 3 {
		t.Fatalf("%d jobs", len(jobs))
	}
	for _, j := range jobs {
		c := j.Spec.Template.Spec.Containers[0]
		volumes := map[string]bool{}
		for _, v := range j.Spec.Template.Spec.Volumes {
			volumes[v.Name] = true
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s mounts %s, which is not a volume", j.Name, m.Name)
			}
		}
		if j.Spec.Template.Spec.TerminationGracePeriodSeconds == nil || *j.Spec.Template.Spec.TerminationGracePeriodSeconds <= stopLimit {
			t.Errorf("%s gives no time to stop", j.Name)
		}
	}
	j := jobs[1]
	if j.Spec.CompletionMode == nil || *j.Spec.CompletionMode != batch.IndexedCompletion {
		t.Fatalf("%s is not indexed", j.Name)
	}
	c := j.Spec.Template.Spec.Containers[0]
	if want := "--share=$(SHARE)+1/" + strconv.Itoa(int(*j.Spec.Completions)); !slices.Contains(c.Args, want) {
		t.Errorf("%q have no %s", c.Args, want)
	}
	if !slices.ContainsFunc(c.Env, func(e core.EnvVar) bool {
		return e.Name == "SHARE" && e.ValueFrom != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.annotations['"+batch.JobCompletionIndexAnnotation+"']"
	}) {
		t.Error("SHARE is not the pod's index")
	}
	if claim := find[*core.PersistentVolumeClaim](t, all)[0]; !slices.Contains(claim.Spec.AccessModes, core.ReadWriteMany) {
		t.Error("pods on several machines cannot share the volume")
	}
}
