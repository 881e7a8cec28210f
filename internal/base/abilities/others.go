package abilities

import "bulkload/pkg/setting"

func rekeyCells() [columns]Cell {
	return [columns]Cell{
		Process:      by("internal/jobs/rekey: TestRekey"),
		Several:      no("rekey gives one table new keys: give the command for each"),
		Shares:       by("internal/jobs/rekey: TestRekeyByShares", "internal/jobs/rekey: TestRekeyTwinsByShares"),
		YARN:         by("internal/test/onyarn: TestQuick/new keys"),
		SplitBy:      no("rekey reads a table, which has no directories"),
		Resume:       by("internal/jobs/rekey: TestRekey", "internal/pipeline/newkeys: TestBuildResumes"),
		Host:         by("internal/jobs/job: TestEveryCommandOnAnotherHost"),
		Sample:       no("rekey compares a sum over all rows without their keys, and a sample has no such sum"),
		Files:        no("rekey compares a sum over all rows without their keys, which names of files do not show"),
		Full:         by("internal/jobs/rekey: TestRekey"),
		Plan:         by("internal/jobs/rekey: TestPlan", "internal/pipeline/newkeys: TestPredict"),
		Pause:        by("internal/jobs/rekey: TestRekeyAsksItsGate"),
		Report:       no("rekey has no report: its result has the counts and times"),
		Metrics:      no("rekey has no metrics, which are of jobs that come back each night: its result has the counts"),
		Lineage:      no("rekey sends no events of OpenLineage, which say what a table is loaded from night by night"),
		Status:       seen(),
		Clean:        by("internal/jobs/rekey: TestCleanDropsSnapshot"),
		Unreplicated: no("rekey loads for peers too where the new table's families are replicated: set their REPLICATION_SCOPE to 0 for the load"),
		Kerberos:     by("internal/test/secured: TestLevels/commands"),
	}
}

func undoCells() [columns]Cell {
	return [columns]Cell{
		Process: by("internal/jobs/undo: TestUndo"),
		Several: by("internal/jobs/undo: TestUndoTables"),
		Shares:  no("an undo has one marker for each row and family, which one process writes"),
		YARN:    no("an undo has one marker for each row and family, which one process writes"),
		SplitBy: no("each directory is a job of its own: undo takes one by its name, with %s", setting.Job),
		Resume:  by("internal/jobs/undo: TestUndoKilledAndCompacted", "internal/jobs/undo: TestUndoTables"),
		Host:    by("internal/jobs/job: TestEveryCommandOnAnotherHost"),
		Sample:  no("undo has predicted the whole table, and a sample shows nothing of the cells that are to be gone"),
		Files:   no("that files with markers are in the table does not show what readers see again"),
		Full:    by("internal/jobs/undo: TestUndo"),
		Plan:    by("internal/jobs/undo: TestUndo", "internal/jobs/undo: TestUndoTables"),
		Pause:   no("an undo is not paused: end it, and the same command resumes"),
		Report:  no("undo has no report: its output has all counts"),
		Metrics: no("undo has no metrics, which are of jobs that come back each night: its output has all counts"),
		Lineage: no("undo sends no events of OpenLineage, which have none for what is taken back"),
		Status:  by("internal/jobs/undo: TestUndo", "cmd/bulkload: TestScripts/undo"),
		Clean:   by("cmd/bulkload: TestScripts/undo"),

		Unreplicated: no("an undo is for peers if its load was, and for no others: the journal knows"),
		Kerberos:     by("internal/test/secured: TestLevels/commands"),
	}
}

func loadCells() [columns]Cell {
	return [columns]Cell{
		Process: by("internal/jobs/job: TestBuildThenLoad", "internal/jobs/job: TestLoadLocalFiles"),
		Several: no("load takes the directory of one table: give DIR/TABLE, further tables before indexes"),
		Shares:  by("cmd/bulkload: TestClusterScripts/shares"),
		YARN:    no("load builds nothing: the files are there"),
		SplitBy: no("load takes one directory of HFiles: give the command for each"),
		Resume:  by("internal/jobs/job: TestKilledLoadIsResumed"),
		Host:    by("internal/jobs/job: TestEveryCommandOnAnotherHost"),
		Sample:  no("build notes no rows of a directory to look for"),
		Files:   no("only run looks for its files in HBase's directory"),
		Full:    by("internal/jobs/job: TestBuildThenLoad"),
		Plan:    no("load builds nothing that could be estimated: hfile check says whether the files are good"),
		Pause:   by("internal/jobs/job: TestKindsOfWorkAskTheirGate/load"),
		Report:  by("cmd/bulkload: TestClusterScripts/result"),
		Metrics: seen(),
		Lineage: seen(),
		Status:  seen(),
		Clean:   seen(),

		Kerberos: by("internal/test/secured: TestLevels/commands"),
	}
}

func exportCells() [columns]Cell {
	const changes = "an export changes no table: its manifest has counts and digests of what was written"
	return [columns]Cell{
		Process: by("cmd/bulkload: TestExportOnCluster"),
		Several: no("an export reads one table: give the command for each"),
		Shares:  no("shares make HFiles, and an export is other files, with one manifest of all: one process writes it"),
		YARN:    no("tasks on YARN make HFiles, and an export is other files, with one manifest of all: one process writes it"),
		SplitBy: no("an export reads a table, which has no directories"),
		Resume:  no("an export that was killed begins again: it reads another snapshot, and files of two are not one moment"),
		Host:    no("an export has no state: on another host, remove its directory and give the command again"),
		Sample:  no(changes),
		Files:   no(changes),
		Full:    no(changes),
		Plan:    no("an export is as large as the table's cells: nothing estimates it"),
		Pause:   no("an export is not paused, since its snapshot would keep old files: end it, and give the command again later"),
		Report:  no("an export has no report: its manifest has what was written"),
		Metrics: no("an export has no metrics: its manifest has what was written"),
		Lineage: no("an export sends no events of OpenLineage: its manifest names the table and the snapshot"),
		Status:  no("an export has no state: a directory with a manifest is complete"),
		Clean:   no("an export has no state: the same command removes what a killed one has left"),

		Unreplicated: no("an export changes no table, and peers get nothing of it"),
		Kerberos:     by("internal/test/secured: TestLevels/commands"),
	}
}
