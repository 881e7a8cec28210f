package stores

import (
	"testing"

	"bulkload/internal/test/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }
