package source

// formats returns all formats, in the order in which documents name them. A further one is a line here.
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
