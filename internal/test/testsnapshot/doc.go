// Package testsnapshot writes tables that HBase has not created, with their snapshots, in HBase's layout: HFiles in the directories of
// regions and families, the description of a snapshot, and the manifest that names its regions and files.
//
//	table := testsnapshot.New(t, testsnapshot.Options{Splits: []string{"m"}})
//	table.Load(3, testsnapshot.Put("a", "f", "q", 5, "old"))
//	table.Load(4, testsnapshot.Put("a", "f", "q", 5, "new"))
//	table.Save()
//	s, err := snapshot.Open(t.Context(), table.FS, table.Root, table.Snapshot)
//
// It does not import package snapshot, so that the tests inside that package can use it.
package testsnapshot
