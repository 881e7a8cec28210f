package abilities

import "bulkload/pkg/setting"

func runCells() [columns]Cell {
	return [columns]Cell{
		Process: by("pkg/job: TestRun"),
		Several: by("pkg/job: TestTablesOnACluster"),
		Shares:  by("cmd/bulkload: TestSharesAreOneBuild", "cmd/bulkload: TestClusterScripts/shares"),
		YARN:    by("internal/onyarn: TestQuick", "internal/onyarn: TestYARN"),
		SplitBy: by("cmd/bulkload: TestSplitByDirectoryGoesOn", "cmd/bulkload: TestClusterScripts/migration"),
		Resume:  by("pkg/job: TestKilledAfterAnyRecordIsResumed"),
		Host:    by("pkg/job: TestResumedOnAnotherHost", "pkg/job: TestStoppedOwner"),
		Sample:  by("pkg/job: TestRun"),
		Files:   by("pkg/job: TestFilesMode", "pkg/job: TestFilesModeAfterRewrites"),
		Full:    by("pkg/job: TestRun"),
		Plan:    by("pkg/estimate: TestEstimate", "pkg/estimate: TestPlanOfTable"),
		Pause:   by("cmd/bulkload: TestPauseAndGoOn", "cmd/bulkload: TestOnlyBetween"),
		Report:  by("cmd/bulkload: TestClusterScripts/result"),
		Metrics: by("cmd/bulkload: TestClusterScripts/telemetry"),
		Lineage: by("cmd/bulkload: TestClusterScripts/telemetry"),
		Status:  by("cmd/bulkload: TestClusterScripts/result"),
		Clean:   by("pkg/job: TestCleanKilled"),

		Kerberos: by("internal/secured: TestLevels"),
	}
}

func tablesCells() [columns]Cell {
	const index = "an index is built by several processes only with %s fail, since one process alone knows all records that are left out: build in one process"
	return [columns]Cell{
		Process: by("pkg/job: TestTablesOnACluster"),
		Several: by("pkg/job: TestTablesOnACluster"),
		Shares:  by("cmd/bulkload: TestSharesAreOneBuild/a table and an index").but(index, setting.Duplicates),
		YARN:    by("internal/onyarn: TestQuick/several tables").but(index, setting.Duplicates),
		SplitBy: by("pkg/job: TestTablesByDirectory"),
		Resume:  by("pkg/job: TestTablesOnACluster/killed"),
		Host:    by("pkg/job: TestKindsOfRunsOnAnotherHost/tables"),
		Sample:  by("pkg/job: TestKindsOfRunsVerified/tables"),
		Files:   by("pkg/job: TestTablesOnACluster/verified by files"),
		Full:    by("pkg/job: TestTablesOnACluster/one run"),
		Plan:    by("pkg/estimate: TestEstimateTables", "pkg/estimate: TestSuggestTables", "cmd/bulkload: TestScripts/tables"),
		Pause:   by("pkg/job: TestKindsOfWorkAskTheirGate/tables"),
		Report:  seen(),
		Metrics: seen(),
		Lineage: by("cmd/bulkload: TestLineageOfTables"),
		Status:  seen(),
		Clean:   seen(),

		Kerberos: by("internal/secured: TestLevels/commands"),
	}
}

func replaceCells() [columns]Cell {
	return [columns]Cell{
		Process: by("pkg/job: TestReplaceTable"),
		Several: no("%s takes one table, and the job file has several: replace each by a job of its own", setting.Replace),
		Shares:  by("pkg/job: TestReplaceByShares", "cmd/bulkload: TestClusterScripts/shares"),
		YARN:    by("internal/onyarn: TestQuick/replace"),
		SplitBy: no("%s is for one job, and this one is split into one for each directory: each would delete what the one before has loaded", setting.Replace),
		Resume:  by("pkg/job: TestReplaceKilled"),
		Host:    by("pkg/job: TestKindsOfRunsOnAnotherHost/replace"),
		Sample:  by("pkg/job: TestKindsOfRunsVerified/replace", "pkg/job: TestReplaceCompacted"),
		Files:   by("pkg/job: TestReplaceVerifiedByFiles"),
		Full:    by("pkg/job: TestReplaceTable"),
		Plan:    by("pkg/job: TestReplaceTable", "cmd/bulkload: TestClusterScripts/fresh"),
		Pause:   by("pkg/job: TestKindsOfWorkAskTheirGate/replace"),
		Report:  seen(),
		Metrics: seen(),
		Lineage: seen(),
		Status:  seen(),
		Clean:   seen(),

		Kerberos: by("internal/secured: TestLevels/commands"),
	}
}

func intoCells() [columns]Cell {
	return [columns]Cell{
		Process: by("pkg/job: TestFreshTable"),
		Several: no("%s makes one table, and the job file has several: replace each by a job of its own", setting.Into),
		Shares:  by("pkg/job: TestFreshTableByShares", "cmd/bulkload: TestClusterScripts/shares"),
		YARN:    by("internal/onyarn: TestQuick/replace"),
		SplitBy: no("%s makes one table of one export, and this job is split into one for each directory: give the whole export to one job", setting.Into),
		Resume:  by("pkg/job: TestFreshTableKilled"),
		Host:    by("pkg/job: TestKindsOfRunsOnAnotherHost/into"),
		Sample:  by("pkg/job: TestKindsOfRunsVerified/into"),
		Files:   by("pkg/job: TestKindsOfRunsVerified/into"),
		Full:    by("pkg/job: TestFreshTable"),
		Plan:    by("cmd/bulkload: TestClusterScripts/fresh"),
		Pause:   by("pkg/job: TestKindsOfWorkAskTheirGate/replace"),
		Report:  seen(),
		Metrics: seen(),
		Lineage: by("cmd/bulkload: TestLineageOfTables"),
		Clean:   seen(),
		Status:  by("pkg/job: TestFreshTable", "cmd/bulkload: TestClusterScripts/fresh"),

		Kerberos: by("internal/secured: TestLevels/commands"),
	}
}

func inputCells() [columns]Cell {
	return [columns]Cell{
		Process: by("pkg/job: TestTableAsInput"),
		Several: seen(),
		Shares:  by("cmd/bulkload: TestSharesAreOneBuild/a snapshot, last", "internal/onyarn: TestQuick/a table as input").but("shares read a table through a snapshot that stays: take one (hbase shell: snapshot 'TABLE', 'NAME'), and name it as input, snapshot:NAME"),
		YARN:    by("internal/onyarn: TestQuick/a table as input").but("tasks on YARN read the files of a table, and do not scan it: leave %s out, or build with %s local", setting.ReadBy, setting.Engine),
		SplitBy: no("a table has no directories: load it as one job"),
		Resume:  by("pkg/job: TestTableAsInput/hbase", "pkg/job: TestTableAsInput/snapshot", "pkg/job: TestTableAsInput/scan"),
		Host:    by("pkg/job: TestKindsOfRunsOnAnotherHost/table"),
		Sample:  by("pkg/job: TestKindsOfRunsVerified/table"),
		Files:   by("pkg/job: TestKindsOfRunsVerified/table"),
		Full:    by("pkg/job: TestTableAsInput"),
		Plan:    seen(),
		Pause:   by("pkg/job: TestKindsOfWorkAskTheirGate/table"),
		Report:  seen(),
		Metrics: seen(),
		Lineage: seen(),
		Status:  seen(),
		Clean:   seen(),

		Kerberos: by("internal/secured: TestLevels/commands"),
	}
}
