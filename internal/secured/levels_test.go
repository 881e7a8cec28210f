package secured

import (
	"testing"

	"bulkload/internal/testcluster"
)

// Kinds of clusters. Privacy with AES is the one of the quick part.
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

// TestLevels goes through the kinds of clusters, one after the other, and does with each what its level calls for.
func TestLevels(t *testing.T) {
	for _, kind := range []struct {
		name     string
		security testcluster.Security
		full     bool
		parts    []part
	}{
		{"privacy with AES", sealed, false, []part{
			{"jobs", testJobs, false}, {"refused", testRefused, false}, {"kills", testKills, false}, {"afterwards", testAfterwards, false}, {"sealed", testSealed, true},
		}},
		{"authentication", authentication, true, []part{{"jobs", testJobs, true}, {"seen", testSeen, true}, {"afterwards", testAfterwards, true}}},
		{"integrity", integrity, true, []part{{"jobs", testJobs, true}, {"flipped", testFlipped, true}, {"afterwards", testAfterwards, true}}},
		{"privacy without AES", withoutAES, true, []part{{"jobs", testJobs, true}, {"sealed", testSealed, true}, {"afterwards", testAfterwards, true}}},
		{"encrypted data", encrypted, true, []part{{"jobs", testJobs, true}}},
		{"Kerberos with encrypted data", encryptedToo, true, []part{{"jobs", testJobs, true}}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if kind.full {
				testcluster.SecuredAll(t)
			}
			s := at(t, kind.security)
			for _, p := range kind.parts {
				t.Run(p.name, func(t *testing.T) {
					if p.full {
						testcluster.SecuredAll(t)
					}
					own := *s
					own.dir = t.TempDir()
					p.test(t, &own)
				})
			}
		})
	}
}
