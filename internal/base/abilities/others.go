package abilities

import "bulkload/pkg/setting"

func rekeyCells() [columns]Cell {
	return [columns]Cell{
		Process:      by("internal/jobs/rekey: TestRekey"),
		Several:      no("rekey gives one table new keys: give the command for each"),
		Shares:       by("internal/jobs/rekey: TestRekeyByShares", "internal/jobs/rekey: TestRekeyTwinsByShares"),
		YARN:         by("internal/test/onyarn: TestQuick/new keys"),
		SplitBy:      no("rekey reads a table, not directories"),
		Resume:       by("internal/jobs/rekey: TestRekey", "internal/pipeline/newkeys: TestBuildResumes"),
		Sample:       no("rekey verifies by a digest over all rows, which a sample does not have"),
		Files:        no("rekey verifies by a digest over all rows, which files do not show"),
		Full:         by("internal/jobs/rekey: TestRekey"),
		Plan:         by("internal/jobs/rekey: TestPlan", "internal/pipeline/newkeys: TestPredict"),
		Pause:        by("internal/jobs/rekey: TestRekeyAsksItsGate"),
		Report:       no("rekey has no report: its result has the counts and times"),
		Metrics:      no("rekey runs once and writes no metrics: its result has the counts"),
		Lineage:      no("rekey runs once and sends no events of OpenLineage"),
		Clean:        by("internal/jobs/rekey: TestCleanDropsSnapshot"),
		Unreplicated: no("where the new table's families are replicated, rekey loads for peers too: set REPLICATION_SCOPE to 0 for the load"),
		Quiet:        no("only run and load keep a table quiet: set SPLIT_ENABLED and MERGE_ENABLED of the new table to false while rekey works"),
		Filter:       no("rekey chooses rows by their keys and cells by columns and times alone: to compute cells, give run the table as input"),
		Part:         by("internal/pipeline/newkeys: TestChoice", "internal/jobs/rekey: TestRekey", "internal/pipeline/share: TestNewKeys"),
		Filtered:     no("a rekey takes all rows of its table: no filter leaves any out"),
		Duplicates:   no("rows of a table have no place from which they can be read again: a rekey only counts those that lose"),
	}
}

func undoCells() [columns]Cell {
	return [columns]Cell{
		Process:      by("internal/jobs/undo: TestUndo"),
		Several:      by("internal/jobs/undo: TestUndoTables"),
		Shares:       no("an undo has one marker for each row and family, which one process writes"),
		YARN:         no("an undo has one marker for each row and family, which one process writes"),
		SplitBy:      no("each directory is a separate job: give undo the name of one with %s", setting.Job),
		Resume:       by("internal/jobs/undo: TestUndoKilledAndCompacted", "internal/jobs/undo: TestUndoTables", "internal/jobs/undo: TestUndoBySnapshotKilled"),
		Sample:       no("undo compares the whole table with its prediction; a sample does not show that cells are gone"),
		Files:        no("marker files in the table do not prove what readers see"),
		Full:         by("internal/jobs/undo: TestUndo", "internal/jobs/undo: TestUndoBySnapshot"),
		Plan:         by("internal/jobs/undo: TestUndo", "internal/jobs/undo: TestUndoTables", "internal/jobs/undo: TestUndoBySnapshot"),
		Pause:        no("an undo cannot be paused: end it; the same command resumes it"),
		Report:       no("undo has no report: its output has all counts"),
		Metrics:      no("undo writes no metrics: its output has all counts"),
		Lineage:      no("OpenLineage has no events for an undo"),
		Status:       by("internal/jobs/undo: TestUndo", "cmd/bulkload: TestScripts/undo"),
		Clean:        by("cmd/bulkload: TestScripts/undo"),
		Unreplicated: no("an undo reaches the peers that its load reached, as the journal says"),
		Quiet:        no("an undo keeps no table quiet: its files are cut where regions have split"),
		Filter:       no("an undo takes back what its load wrote, whatever a filter left out"),
		Part:         no("an undo takes back what its load wrote, in all rows"),
		Filtered:     no("an undo reads no records"),
		Duplicates:   no("an undo reads no records"),
	}
}

func loadCells() [columns]Cell {
	return [columns]Cell{
		Process:      by("internal/jobs/job: TestBuildThenLoad", "internal/jobs/job: TestLoadLocalFiles"),
		Several:      no("load takes the directory of one table: give DIR/TABLE, further tables before indexes"),
		Shares:       by("cmd/bulkload: TestClusterScripts/shares"),
		YARN:         no("load builds nothing: the files are there"),
		SplitBy:      no("load takes one directory of HFiles: give the command for each"),
		Resume:       by("internal/jobs/job: TestKilledLoadIsResumed"),
		Sample:       no("a load of a directory has no sample of rows"),
		Files:        no("only run looks for its files in HBase's directory"),
		Full:         by("internal/jobs/job: TestBuildThenLoad"),
		Plan:         no("load builds nothing to estimate: hfile check verifies the files"),
		Pause:        by("internal/jobs/job: TestKindsOfWorkAskTheirGate/load"),
		Report:       by("cmd/bulkload: TestClusterScripts/result"),
		Quiet:        by("internal/jobs/job: TestQuietKinds/load"),
		Unreplicated: by("internal/jobs/job: TestKindsOfRunsReplicated/load"),
		Filter:       no("load takes HFiles as they are: give the filter to build or run"),
		Part:         no("load takes HFiles as they are: build reads a part of a table"),
		Filtered:     no("the build has left the records out: give it to build"),
		Duplicates:   no("the build has left the records out: give it to build"),
	}
}

func exportCells() [columns]Cell {
	const changes = "an export changes no table: its manifest has counts and digests of what was written"
	return [columns]Cell{
		Process:      by("cmd/bulkload: TestExportOnCluster"),
		Several:      no("an export reads one table: give the command for each"),
		Shares:       no("shares make HFiles only: one process writes an export and its manifest"),
		YARN:         no("tasks on YARN make HFiles only: one process writes an export and its manifest"),
		SplitBy:      no("an export reads a table, which has no directories"),
		Resume:       by("internal/jobs/export: TestExportResumes", "internal/jobs/export: TestExportKilled"),
		Sample:       no(changes),
		Files:        no(changes),
		Full:         no(changes),
		Plan:         no("there is no estimate: an export is as large as the table's cells"),
		Pause:        by("cmd/bulkload: TestExportOnCluster", "internal/jobs/export: TestExportResumes"),
		Report:       no("an export has no report: its manifest has what was written"),
		Metrics:      no("an export has no metrics: its manifest has what was written"),
		Lineage:      no("an export sends no events of OpenLineage: its manifest names the table and the snapshot"),
		Status:       by("internal/jobs/export: TestExportResumes"),
		Clean:        by("internal/jobs/export: TestExportKilled"),
		Unreplicated: no("an export changes no table: peers get nothing"),
		Quiet:        no("an export changes no table: regions may split and merge while it reads a snapshot"),
		Filter:       no("an export chooses rows by their keys and cells by columns and times alone: filter when it is loaded"),
		Part:         by("internal/jobs/export: TestChoice", "internal/jobs/export: TestChoiceByKeys", "cmd/bulkload: TestExportOnCluster"),
		Filtered:     no("an export writes all rows that it reads"),
		Duplicates:   no("an export writes all rows that it reads"),
	}
}

func clustersCells() [columns]Cell {
	const local = "a run for several clusters builds on local disk"
	const test = "internal/jobs/job: TestClusters"
	return [columns]Cell{
		Process:      by(test),
		Several:      by(test + "/tables"),
		Shares:       no(local + ": merge makes the HFiles of shares, and load takes them to each cluster"),
		YARN:         no(local+": give the command for each cluster, with %s %s", setting.Engine, "yarn"),
		SplitBy:      no("a run for several clusters is one build: give the command for each directory"),
		Resume:       by(test, "internal/jobs/job: TestClustersKilled"),
		Host:         no(local+", where other hosts do not find its HFiles: give it a local %s", setting.State),
		Sample:       no("the load into each cluster is verified by all rows, also where a job file says %s sample", setting.Verify),
		Files:        no("the load into each cluster is verified by all of its rows"),
		Full:         by(test),
		Plan:         no("plan asks one cluster: give it for each"),
		Pause:        by(test + "/gate"),
		Report:       by("internal/jobs/job: TestClustersKilled"),
		Metrics:      by("internal/jobs/job: TestClustersKilled"),
		Lineage:      by("internal/jobs/job: TestClustersKilled"),
		Status:       by("internal/jobs/job: TestClustersKilled"),
		Clean:        by("internal/jobs/job: TestClustersKilled"),
		Kerberos:     by("internal/test/secured: TestLevels/across"),
		Part:         no("a run for several clusters reads files, not tables"),
		Unreplicated: by(test + "/tables"),
		Quiet:        by(test + "/tables"),
		Filtered:     by(test + "/tables"),
		Duplicates:   by(test + "/tables"),
		Filter:       by(test + "/tables"),
	}
}

func compareCells() [columns]Cell {
	const reads = "compare is a verification itself: it reads all rows of both sides"
	return [columns]Cell{
		Process:      by("internal/jobs/compare: TestCompareTables", "internal/jobs/compare: TestCompareSides"),
		Several:      no("compare takes two tables: give the command for each pair"),
		Shares:       no("compare reads by one process: bound it by ranges of rows to divide it among hosts"),
		YARN:         no("compare reads by one process: bound it by ranges of rows to divide it among hosts"),
		SplitBy:      no("compare takes a whole export: bound it by ranges of rows instead"),
		Resume:       by("internal/jobs/compare: TestCompareResumes", "internal/jobs/compare: TestCompareKilled"),
		Sample:       no(reads),
		Files:        no(reads),
		Full:         no(reads),
		Plan:         no("there is no estimate: compare reads the HFiles of both sides once"),
		Pause:        by("internal/jobs/compare: TestCompareResumes"),
		Report:       no("compare has no report: its output has all counts"),
		Metrics:      no("compare writes no metrics: its output has all counts"),
		Lineage:      no("compare sends no events of OpenLineage: its output names both sides"),
		Status:       by("internal/jobs/compare: TestCompareTables"),
		Clean:        by("internal/jobs/compare: TestCompareKilled"),
		Unreplicated: no("a repair reaches the peers of the table that it repairs"),
		Filtered:     no("compare reads an export to compare it: run and build keep what they leave out"),
		Duplicates:   no("compare reads an export to compare it: run and build keep what they leave out"),
		Filter:       by("internal/jobs/compare: TestCompareSides"),
		Part:         by("internal/jobs/compare: TestJoin", "internal/jobs/compare: TestCompareTables"),
		Quiet:        no("compare reads snapshots: regions may split and merge meanwhile"),
	}
}
