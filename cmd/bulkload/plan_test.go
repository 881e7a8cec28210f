package main

import (
	"testing"

	"bulkload/pkg/hdfsio"
)

// TestNamesHBase checks that the servers of its registry identify a cluster without ZooKeeper.
func TestNamesHBase(t *testing.T) {
	registry := &hdfsio.Conf{}
	registry.Set("hbase.client.bootstrap.servers", "rs2:16020,rs1:16020", "test")
	if !namesHBase(registry) || namesHBase(&hdfsio.Conf{}) {
		t.Error("a cluster without ZooKeeper is not known, or one without anything is")
	}
}
