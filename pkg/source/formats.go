package source

// formats returns all formats, in the order of the documentation. A new format is one more line here.
func formats() []registered {
	return []registered{
		{FormatCSV, csvFormat{}},
		{FormatDump, dumpFormat{}},
		{FormatParquet, parquetFormat{}},
		{FormatORC, orcFormat{}},
		{FormatJSON, jsonFormat{}},
		{FormatAvro, avroFormat{}},
		{FormatText, textFormat{}},
		{FormatFixed, fixedFormat{}},
		{FormatRejects, rejectFormat{}},
		{FormatTable, tableParts{}},
	}
}
