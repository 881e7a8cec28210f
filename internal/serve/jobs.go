package serve

import "net/http"

// Job is a job in the response of /v1/jobs.
type Job struct {
	Name string `json:"name"`
	// Query are the columns of a query key, which are parameters of rows.
	Query []string `json:"query"`
	Key   string   `json:"key"`
	// Columns are the members of every row, null where it has no such cell. With OtherColumns rows may have more.
	Columns      []JobColumn `json:"columns"`
	OtherColumns bool        `json:"other_columns"`
	// Indexes are the indexes that the caller may use.
	Indexes []JobIndex `json:"indexes,omitempty"`
}

// JobIndex is an index, selected by the parameter by.
type JobIndex struct {
	Name string `json:"name"`
	// Query are the columns of the index's query key.
	Query []string `json:"query"`
}

// JobColumn is a column with the type of its values in the terms of JSON Schema.
type JobColumn struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Format string `json:"format,omitempty"`
}

func (s *Server) getJobs(w http.ResponseWriter, r *http.Request) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	answer := struct {
		Jobs []Job `json:"jobs"`
	}{}
	for _, res := range note(r).caller.jobs.list {
		j := Job{Name: res.name, Query: res.columns, Key: res.job.Key(), Columns: []JobColumn{}, OtherColumns: res.shape.Open()}
		for _, c := range res.shape.Columns {
			j.Columns = append(j.Columns, JobColumn{c.Name, c.Form.Type, c.Form.Format})
		}
		for _, x := range res.indexes {
			if res.shows(x) {
				j.Indexes = append(j.Indexes, JobIndex{x.name, x.columns})
			}
		}
		answer.Jobs = append(answer.Jobs, j)
	}
	return writeJSON(w, http.StatusOK, answer)
}
