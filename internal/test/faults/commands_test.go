package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// commands runs the command as the documents instruct an operator: again while it fails, and with --restart, once, if it
// refuses after a fault for which it may refuse.
func (r *round) commands(ctx context.Context, o *Outcome) error {
	patience := int((r.fault.Pick >> 8) % 2)
	for len(o.Exits) < maxRuns {
		p, err := r.run(ctx, r.argv, len(o.Exits) == 0, o)
		if err != nil || p.exit == 0 || r.undecided {
			return err
		}
		if !r.fault.mayRefuse() || !o.Hit || p.exit > 128 {
			continue
		}
		r.refusal(p, o)
		if r.fault.Kind == BitFlip && r.journaled("loaded", r.flipped) {
			// Nothing that the program can do repairs the table, and every attempt to read it takes minutes.
			o.Refused, o.Late = true, true
			return nil
		}
		if patience--; patience < 0 {
			return r.anew(ctx, o)
		}
	}
	return nil
}

// refusal checks that a refusal names its subject.
func (r *round) refusal(p *process, o *Outcome) {
	message := p.lastError()
	if !slices.ContainsFunc(r.names, func(name string) bool { return strings.Contains(message, name) }) {
		o.problem("it refuses without a name of %s: exit code %d: %s", strings.Join(r.names, ", "), p.exit, message)
	}
}

// anew restarts the job. A refusal of the restart is also right if the input is no longer an export.
func (r *round) anew(ctx context.Context, o *Outcome) error {
	if err := r.survey(ctx, o); err != nil {
		return fmt.Errorf("before --restart: %w", err)
	}
	o.Restarted = true
	p, err := r.run(ctx, append(slices.Clone(r.argv), "--restart"), false, o)
	if err != nil || p.exit == 0 {
		return err
	}
	if r.input == nil {
		r.refusal(p, o)
		o.Refused = true
		return nil
	}
	_, err = r.run(ctx, r.argv, false, o)
	return err
}

// reported are the figures of a result.
type reported struct {
	Manifest struct {
		Records, Rejected, Duplicates int64
		Digest                        struct{ Rows int64 }
	}
}

// judgeReport compares the result of a successful command with the content of the table.
func (r *round) judgeReport(o *Outcome, c content) {
	lines := strings.Split(strings.TrimSpace(string(r.result)), "\n")
	var got reported
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
		o.problem("the result cannot be read: %v", err)
		return
	}
	m := got.Manifest
	if m.Records != c.records || m.Rejected != 0 || m.Duplicates != 0 || m.Digest.Rows != c.records {
		o.silent("the result has %d records, %d rejected, %d duplicates, %d rows: the table has the %d records of %s",
			m.Records, m.Rejected, m.Duplicates, m.Digest.Rows, c.records, c.what)
	}
}
