package rekey_test

import (
	"testing"

	"bulkload/internal/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }
