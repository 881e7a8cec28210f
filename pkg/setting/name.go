package setting

// A Name is what files call a setting: a field of a job file, or an option of a
// command with underscores.
type Name string

// String is the name in backquotes, as messages of the libraries have it.
func (n Name) String() string { return "`" + string(n) + "`" }

// The settings that libraries name.
const (
	AllowEmpty     Name = "allow_empty"
	AllVersions    Name = "all_versions"
	BadRecords     Name = "bad_records"
	Columns        Name = "columns"
	DiscardWrites  Name = "discard_writes"
	DropOld        Name = "drop_old"
	Duplicates     Name = "duplicates"
	DuplicatesFile Name = "duplicates_file"
	Empty          Name = "empty"
	Endpoint       Name = "endpoint"
	Engine         Name = "engine"
	Exact          Name = "exact"
	Expect         Name = "expect_records"
	Extra          Name = "extra"
	Family         Name = "family"
	FieldSep       Name = "field_sep"
	Filter         Name = "filter"
	FilteredFile   Name = "filtered_file"
	Force          Name = "force"
	Format         Name = "format"
	From           Name = "from"
	FromKey        Name = "from_key"
	Full           Name = "full"
	Hadoop         Name = "hadoop"
	HDFS           Name = "hdfs"
	Header         Name = "header"
	Inputs         Name = "inputs"
	InsertOnly     Name = "insert_only"
	InputVersions  Name = "input_versions"
	Into           Name = "into"
	Job            Name = "job"
	JobID          Name = "job_id"
	Key            Name = "key"
	KeyPrefix      Name = "key_prefix"
	LoadMode       Name = "load_mode"
	MapMemory      Name = "map_memory"
	Maps           Name = "maps"
	MaxDeletes     Name = "max_deletes"
	MaxFileSize    Name = "max_file_size"
	Memory         Name = "memory"
	MetricsFile    Name = "metrics_file"
	OldKey         Name = "old_key"
	NewKey         Name = "new_key"
	Missing        Name = "missing"
	OlderThan      Name = "older_than"
	OnlyBetween    Name = "only_between"
	OnStop         Name = "on_stop"
	Only           Name = "only"
	OpenLineage    Name = "openlineage"
	Page           Name = "page"
	ParseKey       Name = "parse"
	PhoenixIndexes Name = "phoenix_indexes"
	Prefix         Name = "prefix"
	QuietTable     Name = "quiet_table"
	ReadBy         Name = "read_by"
	RecordSep      Name = "record_sep"
	ReduceMemory   Name = "reduce_memory"
	Reduces        Name = "reduces"
	RejectFile     Name = "reject_file"
	RepairB        Name = "repair_b"
	Replace        Name = "replace"
	Replicate      Name = "replicate"
	Report         Name = "report"
	Restart        Name = "restart"
	RowPrefix      Name = "row_prefix"
	SaltBuckets    Name = "salt_buckets"
	SaltFile       Name = "salt_file"
	Share          Name = "share"
	Since          Name = "since"
	Snapshot       Name = "snapshot"
	Also           Name = "also"
	SpillDir       Name = "spill_dir"
	SpillLimit     Name = "spill_limit"
	SplitBy        Name = "split_by"
	Splits         Name = "splits"
	Staging        Name = "staging"
	State          Name = "state"
	StopRow        Name = "stop_row"
	StartRow       Name = "start_row"
	Suggest        Name = "suggest"
	Table          Name = "table"
	Versions       Name = "versions"
	Timestamp      Name = "timestamp"
	Timestamps     Name = "timestamps"
	To             Name = "to"
	ToKey          Name = "to_key"
	TrustFiles     Name = "trust_files"
	UndoBy         Name = "by"
	Until          Name = "until"
	User           Name = "user"
	Verify         Name = "verify"
	Workers        Name = "workers"
	Znode          Name = "znode"
	Zookeeper      Name = "zookeeper"

	ReplaceRejected Name = "replace_rejected"
)

// Names are all of them.
func Names() []Name {
	return []Name{
		AllVersions, AllowEmpty, Also, BadRecords, Columns, DiscardWrites, DropOld, Duplicates, DuplicatesFile, Empty, Endpoint, Engine, Exact, Expect, Extra, Family, FieldSep, Filter, FilteredFile, Force, Format, From, FromKey, Full, HDFS, Hadoop, Header,
		InputVersions, Inputs, InsertOnly, Into, Job, JobID, Key, KeyPrefix, LoadMode, MapMemory, Maps, MaxDeletes, MaxFileSize, Memory, MetricsFile, Missing, NewKey, OldKey, OlderThan, OnStop, Only, OnlyBetween, OpenLineage, Page, ParseKey, PhoenixIndexes, Prefix,
		QuietTable, ReadBy, RecordSep, ReduceMemory, Reduces, RejectFile, RepairB, Replace, ReplaceRejected, Replicate, Report, Restart, RowPrefix, SaltBuckets, SaltFile, Share, Since, Snapshot, SpillDir, SpillLimit, SplitBy, Splits, Staging,
		StartRow, State, StopRow, Suggest, Table, Timestamp, Timestamps, To, ToKey, TrustFiles, UndoBy, Until, User, Verify, Versions, Workers, Znode, Zookeeper,
	}
}
