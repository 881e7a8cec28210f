package abilities

import "bulkload/pkg/setting"

func runCells() [columns]Cell {
	return [columns]Cell{
		Process: by("internal/jobs/job: TestRun"),
		Several: by("internal/jobs/job: TestTablesOnACluster"),
		Shares:  by("cmd/bulkload: TestSharesAreOneBuild", "cmd/bulkload: TestClusterScripts/shares"),
		YARN:    by("internal/test/onyarn: TestQuick", "internal/test/onyarn: TestYARN", "internal/test/onyarn: TestQuick/object stores").but("only keys of S3's protocol go to nodes, not those of gs:// and abfs://: put the input on HDFS, or build with %s local or in shares", setting.Engine),
		SplitBy: by("cmd/bulkload: TestSplitByDirectoryGoesOn", "cmd/bulkload: TestClusterScripts/migration"),
		Resume:  by("internal/jobs/job: TestKilledAfterAnyRecordIsResumed"),
		Host:    by("internal/jobs/job: TestResumedOnAnotherHost", "internal/jobs/job: TestStoppedOwner"),
		Sample:  by("internal/jobs/job: TestRun"),
		Files:   by("internal/jobs/job: TestFilesMode", "internal/jobs/job: TestFilesModeAfterRewrites"),
		Full:    by("internal/jobs/job: TestRun"),
		Plan:    by("internal/pipeline/estimate: TestEstimate", "internal/pipeline/estimate: TestPlanOfTable"),
		Pause:   by("cmd/bulkload: TestPauseAndGoOn", "cmd/bulkload: TestOnlyBetween"),
		Report:  by("cmd/bulkload: TestClusterScripts/result"),
		Metrics: by("cmd/bulkload: TestClusterScripts/telemetry"),
		Lineage: by("cmd/bulkload: TestClusterScripts/telemetry"),
		Status:  by("cmd/bulkload: TestClusterScripts/result"),
		Clean:   by("internal/jobs/job: TestCleanKilled"),
		Filter: by("internal/jobs/job: TestRunComputed", "cmd/bulkload: TestSharesAreOneBuild/a filter and computed cells", "internal/test/onyarn: TestYARN/expressions").
			but("%s is a file of this host, which tasks on YARN do not have: build with %s local, or in shares", setting.SaltFile, setting.Engine),
		Kerberos:   by("internal/test/secured: TestLevels"),
		Filtered:   by("internal/pipeline/build: TestFilesOfRecordsLeftOut", "internal/jobs/job: TestFilesOfKilledRuns", "internal/pipeline/mapreduce: TestBadRecordsOfAllMaps", "cmd/bulkload: TestScripts/leftout"),
		Duplicates: by("internal/pipeline/build: TestFilesOfRecordsLeftOut", "internal/jobs/job: TestFilesOfKilledRuns").but("processes that each read a part of the input do not know which records of a key lose: build with %s local, without shares", setting.Engine),
	}
}

func tablesCells() [columns]Cell {
	const index = "several processes build an index only with %s fail: with another policy build in one process"
	return [columns]Cell{
		Process:    by("internal/jobs/job: TestTablesOnACluster"),
		Several:    by("internal/jobs/job: TestTablesOnACluster"),
		Shares:     by("cmd/bulkload: TestSharesAreOneBuild/a table and an index").but(index, setting.Duplicates),
		YARN:       by("internal/test/onyarn: TestQuick/several tables").but(index, setting.Duplicates),
		SplitBy:    by("internal/jobs/job: TestTablesByDirectory"),
		Resume:     by("internal/jobs/job: TestTablesOnACluster/killed"),
		Host:       by("internal/jobs/job: TestKindsOfRunsOnAnotherHost/tables"),
		Sample:     by("internal/jobs/job: TestKindsOfRunsVerified/tables"),
		Files:      by("internal/jobs/job: TestTablesOnACluster/verified by files"),
		Full:       by("internal/jobs/job: TestTablesOnACluster/one run"),
		Plan:       by("internal/pipeline/estimate: TestEstimateTables", "internal/pipeline/estimate: TestSuggestTables", "cmd/bulkload: TestScripts/tables"),
		Pause:      by("internal/jobs/job: TestKindsOfWorkAskTheirGate/tables"),
		Lineage:    by("internal/cli/lineage: TestLineageOfTables"),
		Filter:     by("internal/jobs/job: TestTablesFiltered/killed", "internal/jobs/job: TestTablesFiltered/by directory", "cmd/bulkload: TestSharesAreOneBuild/a table and an index", "internal/test/onyarn: TestQuick/several tables"),
		Filtered:   by("internal/pipeline/build: TestFilesOfRecordsLeftOut"),
		Duplicates: by("internal/pipeline/build: TestFilesOfRecordsLeftOut"),
	}
}

func replaceCells() [columns]Cell {
	return [columns]Cell{
		Process: by("internal/jobs/job: TestReplaceTable"),
		Several: no("%s takes one table, and the job file has several: use a job for each", setting.Replace),
		Shares:  by("internal/jobs/job: TestReplaceByShares", "cmd/bulkload: TestClusterScripts/shares"),
		YARN:    by("internal/test/onyarn: TestQuick/replace"),
		SplitBy: no("%s cannot be used with a job for each directory: each would delete the rows of the one before", setting.Replace),
		Resume:  by("internal/jobs/job: TestReplaceKilled"),
		Host:    by("internal/jobs/job: TestKindsOfRunsOnAnotherHost/replace"),
		Sample:  by("internal/jobs/job: TestKindsOfRunsVerified/replace", "internal/jobs/job: TestReplaceCompacted"),
		Files:   by("internal/jobs/job: TestReplaceVerifiedByFiles"),
		Full:    by("internal/jobs/job: TestReplaceTable"),
		Plan:    by("internal/jobs/job: TestReplaceTable", "cmd/bulkload: TestClusterScripts/fresh"),
		Pause:   by("internal/jobs/job: TestKindsOfWorkAskTheirGate/replace"),
		Filter:  by("internal/jobs/job: TestRunComputed"),
	}
}

func intoCells() [columns]Cell {
	return [columns]Cell{
		Process: by("internal/jobs/job: TestFreshTable"),
		Several: no("%s makes one table, and the job file has several: use a job for each", setting.Into),
		Shares:  by("internal/jobs/job: TestFreshTableByShares", "cmd/bulkload: TestClusterScripts/shares"),
		YARN:    by("internal/test/onyarn: TestQuick/replace"),
		SplitBy: no("%s cannot be used with a job for each directory: give the whole export to one job", setting.Into),
		Resume:  by("internal/jobs/job: TestFreshTableKilled"),
		Host:    by("internal/jobs/job: TestKindsOfRunsOnAnotherHost/into"),
		Sample:  by("internal/jobs/job: TestKindsOfRunsVerified/into"),
		Files:   by("internal/jobs/job: TestKindsOfRunsVerified/into"),
		Full:    by("internal/jobs/job: TestFreshTable"),
		Plan:    by("cmd/bulkload: TestClusterScripts/fresh"),
		Pause:   by("internal/jobs/job: TestKindsOfWorkAskTheirGate/replace"),
		Lineage: by("internal/cli/lineage: TestLineageOfTables"),
		Status:  by("internal/jobs/job: TestFreshTable", "cmd/bulkload: TestClusterScripts/fresh"),
		Filter:  by("internal/jobs/job: TestRunComputed"),
	}
}

func inputCells() [columns]Cell {
	return [columns]Cell{
		Process:    by("internal/jobs/job: TestTableAsInput"),
		Several:    seen(),
		Shares:     by("cmd/bulkload: TestSharesAreOneBuild/a snapshot, last", "internal/test/onyarn: TestQuick/a table as input").but("shares need a snapshot: take one (hbase shell: snapshot 'TABLE', 'NAME') and give snapshot:NAME as input"),
		YARN:       by("internal/test/onyarn: TestQuick/a table as input").but("tasks on YARN read the files of a table and cannot scan it: leave %s out, or give %s local", setting.ReadBy, setting.Engine),
		SplitBy:    no("a table has no directories: load it as one job"),
		Resume:     by("internal/jobs/job: TestTableAsInput/hbase", "internal/jobs/job: TestTableAsInput/snapshot", "internal/jobs/job: TestTableAsInput/scan"),
		Host:       by("internal/jobs/job: TestKindsOfRunsOnAnotherHost/table"),
		Sample:     by("internal/jobs/job: TestKindsOfRunsVerified/table"),
		Files:      by("internal/jobs/job: TestKindsOfRunsVerified/table"),
		Full:       by("internal/jobs/job: TestTableAsInput"),
		Plan:       seen(),
		Pause:      by("internal/jobs/job: TestKindsOfWorkAskTheirGate/table"),
		Filter:     by("internal/test/onyarn: TestYARN/expressions"),
		Part:       by("internal/pipeline/tablesource: TestChoice", "cmd/bulkload: TestExportOnCluster"),
		Duplicates: no("%s has records of files: rows of a table have no place from which they can be read again", setting.DuplicatesFile),
	}
}
