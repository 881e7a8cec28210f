package setting

// A Name is what files call a setting: a field of a job file, or an option of a
// command with underscores.
type Name string

// String is the name in backquotes, as messages of the libraries have it.
func (n Name) String() string { return "`" + string(n) + "`" }

// The settings that libraries name.
const (
	AllowEmpty     Name = "allow_empty"
	BadRecords     Name = "bad_records"
	Columns        Name = "columns"
	DropOld        Name = "drop_old"
	Duplicates     Name = "duplicates"
	Empty          Name = "empty"
	Engine         Name = "engine"
	Exact          Name = "exact"
	Expect         Name = "expect_records"
	Extra          Name = "extra"
	Family         Name = "family"
	FieldSep       Name = "field_sep"
	Force          Name = "force"
	Format         Name = "format"
	From           Name = "from"
	Full           Name = "full"
	HDFS           Name = "hdfs"
	Hadoop         Name = "hadoop"
	Header         Name = "header"
	InsertOnly     Name = "insert_only"
	Into           Name = "into"
	Job            Name = "job"
	JobID          Name = "job_id"
	Key            Name = "key"
	LoadMode       Name = "load_mode"
	MapMemory      Name = "map_memory"
	Maps           Name = "maps"
	MaxDeletes     Name = "max_deletes"
	MaxFileSize    Name = "max_file_size"
	Memory         Name = "memory"
	Missing        Name = "missing"
	OlderThan      Name = "older_than"
	OnStop         Name = "on_stop"
	Page           Name = "page"
	ParseKey       Name = "parse"
	PhoenixIndexes Name = "phoenix_indexes"
	Prefix         Name = "prefix"
	ReadBy         Name = "read_by"
	RecordSep      Name = "record_sep"
	ReduceMemory   Name = "reduce_memory"
	Reduces        Name = "reduces"
	RejectFile     Name = "reject_file"
	Replace        Name = "replace"
	Replicate      Name = "replicate"
	Restart        Name = "restart"
	SaltBuckets    Name = "salt_buckets"
	Since          Name = "since"
	Snapshot       Name = "snapshot"
	SpillDir       Name = "spill_dir"
	SpillLimit     Name = "spill_limit"
	Splits         Name = "splits"
	Staging        Name = "staging"
	State          Name = "state"
	Suggest        Name = "suggest"
	Table          Name = "table"
	Timestamp      Name = "timestamp"
	To             Name = "to"
	TrustFiles     Name = "trust_files"
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
		AllowEmpty, BadRecords, Columns, DropOld, Duplicates, Empty, Engine, Exact, Expect, Extra, Family, FieldSep, Force, Format, From, Full, HDFS, Hadoop,
		Header, InsertOnly, Into, Job, JobID, Key, LoadMode, MapMemory, Maps, MaxDeletes, MaxFileSize, Memory, Missing, OlderThan, OnStop, Page, ParseKey, PhoenixIndexes,
		Prefix, ReadBy, RecordSep, ReduceMemory, Reduces, RejectFile, Replace, ReplaceRejected, Replicate, Restart, SaltBuckets, Since, Snapshot, SpillDir, SpillLimit, Splits, Staging, State, Suggest,
		Table, Timestamp, To, TrustFiles, User, Verify, Workers, Znode, Zookeeper,
	}
}
