package fresh

import (
	"testing"

	"bulkload/internal/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }
