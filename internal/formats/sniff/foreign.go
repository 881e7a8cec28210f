package sniff

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"bulkload/internal/formats/compression"
)

// A Foreign is a format that bulkload cannot read.
type Foreign struct {
	what    string   // the name of the format in messages
	endings []string // of file names, in lower case
	// magic reports whether the first bytes of a file show that it has this format. It is nil if the first bytes do not identify the format.
	magic func(head []byte) bool
	how   string // how to convert it to a file that can be read
}

const (
	byArchiver = "unpack it and name what it holds"
	byMySQL    = "mysqldump -T DIR writes text instead (dialect mysql; DIR/*.txt without the statements)"
	byPostgres = `psql writes text instead: psql -c "\copy t to 't.csv' csv header" (dialect postgres-csv)`
	bySQLite   = `sqlite3 -csv -header DB "SELECT * FROM t" > t.csv (dialect postgres-csv)`
	byPandas   = "Python makes Parquet of it: pandas.read_feather('FILE').to_parquet('FILE.parquet')"
	byHive     = "Hive makes Parquet of its table: INSERT OVERWRITE DIRECTORY '/export' STORED AS PARQUET SELECT * FROM db.t"
)

var foreign = []Foreign{
	{"a SequenceFile of Hadoop", []string{".seq", ".sequencefile"}, versionMagic("SEQ", 6), byHive + " (one of text: hadoop fs -text FILE)"},
	{"an RCFile of Hive", []string{".rc", ".rcfile"}, versionMagic("RCF", 1), byHive},
	{"an Excel workbook", []string{".xlsx", ".xlsm", ".xlsb", ".xls"}, headMagic("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "save each sheet as CSV UTF-8"},
	{"a file of Arrow or Feather", []string{".feather", ".arrow"}, headMagic("ARROW1\x00\x00", "FEA1"), byPandas},
	{"a database of SQLite", []string{".sqlite", ".sqlite3"}, headMagic("SQLite format 3\x00"), strings.Replace(bySQLite, "DB", "FILE", 1)},
	{"a dump of SQLite in SQL", nil, headMagic("PRAGMA foreign_keys=OFF;"), bySQLite},
	{"a dump of PostgreSQL that pg_restore reads", nil, headMagic("PGDMP\x01"), byPostgres},
	{"a dump of PostgreSQL in SQL", nil, headMagic("--\n-- PostgreSQL database ", "--\r\n-- PostgreSQL database "), byPostgres},
	{"a dump of MySQL in SQL", nil, headMagic("-- MySQL dump ", "-- MariaDB dump ", "-- phpMyAdmin SQL Dump", "/*!999999"), byMySQL},
	{"an HFile of HBase", []string{".hfile"}, headMagic("DATABLK*", "DATABLKE"), "the load command takes a directory of HFiles"},
	{"XML or HTML", []string{".xml"}, headMagic("<?xml", "<!DOCTYPE", "<html", "\ufeff<?xml"), "export it as CSV (a workbook saved as a web page: save each sheet as CSV UTF-8)"},
	{"a zip archive", []string{".zip", ".jar"}, headMagic("PK\x03\x04", "PK\x05\x06", "PK\x07\x08"), byArchiver + " (unzip FILE; of a workbook of Excel, save each sheet as CSV)"},
	{"a tar archive", []string{".tar", ".tgz", ".tbz2", ".txz", ".tzst"}, tarMagic, byArchiver + " (tar -xf FILE)"},
	{"a 7z archive", []string{".7z"}, headMagic("7z\xbc\xaf\x27\x1c"), byArchiver + " (7z x FILE)"},
	{"a RAR archive", []string{".rar"}, headMagic("Rar!\x1a\x07"), byArchiver + " (unrar x FILE)"},
	{"packed with LZO", []string{".lzo", ".lzo_deflate"}, headMagic("\x89LZO\x00\r\n\x1a\n"), "pack it as gzip (lzop -dc FILE | gzip)"},
	{"packed with Brotli", []string{".br"}, nil, "pack it as gzip (brotli -dc FILE | gzip)"},
	{"packed with LZMA alone", []string{".lzma"}, nil, "pack it as xz (unlzma -c FILE | xz)"},
	{"packed with compress", []string{".z"}, headMagic("\x1f\x9d"), "pack it as gzip (gzip -dc FILE | gzip)"},
	{"packed with lz4's legacy frame", nil, headMagic(compression.LZ4Legacy), "pack it in a frame of today (lz4 -dc FILE | lz4)"},
}

// statements is the format of an SQL file whose content does not show which program wrote it.
var statements = Foreign{"statements of SQL", []string{".sql"}, nil, `psql's \copy t to 't.csv' csv header writes text (dialect postgres-csv), so does mysqldump -T DIR (dialect mysql)`}

func headMagic(magics ...string) func(head []byte) bool {
	return func(head []byte) bool {
		return slices.ContainsFunc(magics, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) })
	}
}

// versionMagic matches a word followed by a version, a byte of at most most. Text may begin with the word too, but no text has such a byte after it.
func versionMagic(magic string, most byte) func(head []byte) bool {
	return func(head []byte) bool {
		return len(head) > 3 && string(head[:3]) == magic && head[3] <= most
	}
}

// tarMagic matches the tar files of POSIX and GNU.
func tarMagic(head []byte) bool {
	return len(head) >= 512 && (string(head[257:263]) == "ustar\x00" || string(head[257:265]) == "ustar  \x00")
}

// Text describes the format of a file of this name, and how to convert it.
func (k *Foreign) Text(name string) string {
	return fmt.Sprintf("%s is %s, which cannot be read: %s", name, k.what, strings.ReplaceAll(k.how, "FILE", name))
}

// ForeignName returns the foreign format of a file by the ending of its name, nil if there is none.
func ForeignName(name string) *Foreign {
	return first(func(k *Foreign) bool { return k.ends(name) })
}

// ForeignContent returns the foreign format of a file, or of its decompressed content, by its first bytes; nil if there is none.
func ForeignContent(head []byte) *Foreign {
	return first(func(k *Foreign) bool { return k.magic != nil && k.magic(head) })
}

// ForeignStatements returns the format of an SQL file by its name, nil for any other. It is for files whose content does not identify the format.
func ForeignStatements(name string) *Foreign {
	if statements.ends(name) {
		return &statements
	}
	return nil
}

func first(is func(k *Foreign) bool) *Foreign {
	if i := slices.IndexFunc(foreign, func(k Foreign) bool { return is(&k) }); i >= 0 {
		return &foreign[i]
	}
	return nil
}

// ends reports whether a name has one of the format's endings.
func (k *Foreign) ends(name string) bool {
	return slices.ContainsFunc(k.endings, func(end string) bool { return strings.HasSuffix(name, end) })
}
