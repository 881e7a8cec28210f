package secured

import (
	"testing"

	"bulkload/internal/test/testcluster"
)

// Kinds of clusters. The quick part uses privacy with AES.
var (
	sealed         = testcluster.AtLevel(testcluster.Privacy)
	authentication = testcluster.AtLevel(testcluster.Authentication)
	integrity      = testcluster.AtLevel(testcluster.Integrity)
	withoutAES     = testcluster.Security{Kerberos: true, RPC: testcluster.Privacy, Data: testcluster.Privacy, HBase: testcluster.Privacy}
	encrypted      = testcluster.Security{EncryptData: true, AES: true}
	encryptedToo   = testcluster.Security{Kerberos: true, RPC: testcluster.Integrity, HBase: testcluster.Privacy, EncryptData: true, AES: true}
)

// part is a test of a site.
type part struct {
	name string
	test func(*testing.T, *site)
	full bool // in the full suite only
}

// A level is a kind of cluster with its tests.
type level struct {
	name     string
	security testcluster.Security
	parts    []part
}

// levels returns all kinds of clusters.
func levels() []level {
	jobs, afterwards := part{"jobs", testJobs, true}, part{"afterwards", testAfterwards, true}
	return []level{
		{"privacy with AES", sealed, []part{
			{"jobs", testJobs, false}, {"refused", testRefused, false}, {"acl", testACL, true}, {"grants", testGrants, false}, {"mapped", testMapped, false}, {"kills", testKills, false}, {"state", testState, false}, {"many", testMany, false}, {"commands", testCommands, true}, {"across", testAcross, true}, {"own login", testOwnLogin, false}, {"service keys", testServiceKeys, true}, {"afterwards", testAfterwards, false},
			{"sealed", testSealed, true},
		}},
		{"simple", testcluster.Security{}, []part{{"clients with Kerberos", testKerberosRefused, true}}},
		{"authentication", authentication, []part{jobs, {"seen", testSeen, true}, afterwards}},
		{"integrity", integrity, []part{jobs, {"flipped", testFlipped, true}, afterwards}},
		{"privacy without AES", withoutAES, []part{jobs, {"sealed", testSealed, true}, afterwards}},
		{"encrypted data", encrypted, []part{jobs}},
		{"Kerberos with encrypted data", encryptedToo, []part{jobs}},
	}
}

// TestLevels runs, on each kind of cluster in sequence, the tests for its level.
func TestLevels(t *testing.T) {
	for _, kind := range levels() {
		t.Run(kind.name, func(t *testing.T) {
			if kind.security != sealed {
				testcluster.SecuredAll(t)
			}
			s := at(t, kind.security)
			for _, part := range kind.parts {
				t.Run(part.name, func(t *testing.T) {
					if part.full {
						testcluster.SecuredAll(t)
					}
					part.test(t, s.at(t))
				})
			}
		})
	}
}
