package rekey_test

import (
	"testing"

	"bulkload/internal/test/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }
