package rowtext

import (
	"fmt"
	"io"
	"text/tabwriter"

	"bulkload/internal/cli/ui"
	"bulkload/internal/serve/query"
	"bulkload/pkg/keygen/rowkey"
	"bulkload/pkg/setting"
)

// PrintStats prints the next page of a read, and if explain is set the statistics of each region.
func PrintStats(w io.Writer, st *query.ReadStats, explain bool) {
	if explain {
		printRegions(w, st)
	}
	if st.Next != "" {
		fmt.Fprintf(w, "next page: --page %s\n", st.Next)
	}
}

func printRegions(w io.Writer, st *query.ReadStats) {
	fmt.Fprintf(w, "%s of %s and %s: %s to find the cluster and the table, %s to read\n",
		setting.Count(st.Rows, "row"), setting.Count(st.Heads, "salt"), setting.Count(len(st.Regions), "region"), ui.Round(st.Dial), ui.Round(st.Scan))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "region\trange\tserver\tscans\trows\tbytes\ttime\tblocks\tdisk reads")
	for _, r := range st.Regions {
		reads := "not reported"
		if r.DiskReads >= 0 {
			reads = fmt.Sprint(r.DiskReads)
		}
		fmt.Fprintf(t, "%s\t[%s, %s)\t%s\t%d\t%d\t%d\t%s\t~%d\t%s\n", r.Region, rowkey.String(r.Start), rowkey.String(r.End), r.Server,
			r.Scans, r.Rows, r.Bytes, ui.Round(r.Took()), r.Blocks, reads)
	}
	t.Flush()
	fmt.Fprintln(w, "blocks are estimated from bytes and the block size; disk reads are the server's count of blocks that were not in its cache")
}
