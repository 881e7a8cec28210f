package source

// formats are all formats, in the order in which documents name them. A further one is a line here.
func formats() []format {
	return []format{
		csvFormat{},
		dumpFormat{},
		parquetFormat{},
		jsonFormat{},
		avroFormat{},
		textFormat{},
		rejectFormat{},
		tableParts{},
	}
}
