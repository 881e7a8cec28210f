package yarn

import (
	"slices"
	"strings"
	"testing"
)

func TestFromConf(t *testing.T) {
	ha := map[string]string{"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "rm1, rm2",
		"yarn.resourcemanager.hostname.rm1": "a.example", "yarn.resourcemanager.webapp.address.rm2": "b.example:9"}
	for name, c := range map[string]struct {
		conf     map[string]string
		managers []string
		history  string
		refused  string
	}{
		"a host":    {map[string]string{"yarn.resourcemanager.hostname": "a.example"}, []string{"http://a.example:8088"}, "", ""},
		"two":       {ha, []string{"http://a.example:8088", "http://b.example:9"}, "", ""},
		"tls":       {map[string]string{"yarn.resourcemanager.hostname": "a", "yarn.http.policy": "HTTPS_ONLY"}, []string{"https://a:8090"}, "", ""},
		"a history": {map[string]string{"yarn.resourcemanager.webapp.address": "a:1", "mapreduce.jobhistory.webapp.address": "h"}, []string{"http://a:1"}, "http://h:19888", ""},
		"history by tls": {map[string]string{"yarn.resourcemanager.webapp.address": "a:1", "mapreduce.jobhistory.http.policy": "HTTPS_ONLY",
			"mapreduce.jobhistory.webapp.https.address": "h:2"}, []string{"http://a:1"}, "https://h:2", ""},
		"nothing":      {nil, nil, "", "yarn.resourcemanager.webapp.address"},
		"everywhere":   {map[string]string{"yarn.resourcemanager.webapp.address": "0.0.0.0:8088"}, nil, "", "name the host"},
		"a path":       {map[string]string{"yarn.resourcemanager.webapp.address": "a:1/x"}, nil, "", "is not an address"},
		"no ids":       {map[string]string{"yarn.resourcemanager.ha.enabled": "true"}, nil, "", "ha.rm-ids"},
		"half a pair":  {map[string]string{"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "x"}, nil, "", "hostname.x"},
		"many of them": {map[string]string{"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": strings.Repeat("a,", 99)}, nil, "", "99"},
	} {
		a, err := FromConf(func(key string) string { return c.conf[key] })
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !slices.Equal(a.ResourceManagers, c.managers) || a.History != c.history {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// TestCallAddresses checks the addresses of the ResourceManagers' RPC.
func TestCallAddresses(t *testing.T) {
	for want, conf := range map[string]map[string]string{
		"a:8032":        {"yarn.resourcemanager.hostname": "a"},
		"b:9":           {"yarn.resourcemanager.hostname": "a", "yarn.resourcemanager.address": "b:9"},
		"b:8032":        {"yarn.resourcemanager.hostname": "a", "yarn.resourcemanager.address": "b"},
		"0.0.0.0:8032":  {"yarn.resourcemanager.webapp.address": "a:8088"},
		"a:8032 b:9032": {"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "x,y", "yarn.resourcemanager.hostname.x": "a", "yarn.resourcemanager.hostname.y": "b", "yarn.resourcemanager.address.y": "b:9032"},
	} {
		a, err := FromConf(func(key string) string { return conf[key] })
		if got := strings.Join(a.Calls, " "); got != want || err != nil {
			t.Errorf("%s, not %s: %v", got, want, err)
		}
	}
}
