// Package planview shows the plan of a job: as text ([Plan.Print]), as a picture of the regions ([Plan.Draw]), as split points
// ([Plan.PrintSplits]), and as JSON, which is a [Plan] itself.
package planview
