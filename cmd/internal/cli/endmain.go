// SPDX-License-Identifier: MIT

package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan/modes"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/results"
)

// OpenEnd prepares an end. The error of a spec that no host could run is a
// usage error; that of a mode that this host cannot run prints as a report.
func OpenEnd(cmd *cobra.Command, spec wire.EndSpec, asJSON bool) (*endpoint.End, error) {
	if mode, err := modes.Find(spec.Role, spec.Mode()); err == nil &&
		(mode.Has(stream.NeedsDev) || spec.Role == stream.RX && spec.Cell.Steers()) {
		tellFinished(cmd)
	}
	end, err := endpoint.Open(spec)
	if err == nil {
		return end, nil
	}
	if u := (*endpoint.UsageError)(nil); errors.As(err, &u) {
		return nil, OptionError(u)
	}
	r := wire.EndResult{Verdict: results.Failed, Reason: fault.Reason(err), Fix: fault.Fix(err)}
	if u := (*fault.Unsupported)(nil); errors.As(err, &u) {
		r.Verdict = results.Unsupported
	}
	if asJSON {
		return nil, newEndReport(cmd.Name(), spec, r, false).Print(cmd.OutOrStdout(), cmd.ErrOrStderr(), true)
	}
	return nil, err
}

// tellFinished restores what dead processes left on this host, and says so.
func tellFinished(cmd *cobra.Command) {
	reports, err := lease.Finish(lease.FinishOptions{})
	for _, r := range reports {
		for _, l := range r.Lines() {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: finished %s\n", cmd.Name(), l)
		}
	}
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", cmd.Name(), err)
	}
}

// Output is how a result is printed.
type Output struct{ JSON, Verbose bool }

// RunEnd runs an end on its own and prints the report. Ending the command's
// context breaks the flow off.
func RunEnd(cmd *cobra.Command, end *endpoint.End, spec wire.EndSpec, sch wire.Schedule, o Output) error {
	over := tellWaiting(cmd, end, spec, sch)
	r := end.Run(cmd.Context(), sch)
	over()
	err := end.Close()
	if err != nil && r.Verdict == results.OK {
		r.Verdict, r.Reason, r.Fix = results.Failed, err.Error(), fault.Fix(err)
	}
	if errors.Is(context.Cause(cmd.Context()), context.Canceled) && r.Verdict == results.Failed {
		r.Reason = "interrupted: " + r.Reason
	}
	mode, _ := modes.Find(spec.Role, spec.Mode())
	rep := newEndReport(cmd.Name(), spec, r, mode.SortsBytes())
	err = rep.Print(cmd.OutOrStdout(), cmd.ErrOrStderr(), o.JSON)
	if o.Verbose && !o.JSON {
		DataPath(cmd.OutOrStdout(), string(spec.Role), rep.Metrics)
	}
	return err
}

// waitsQuietly is how long a sender waits for its receiver before it says so.
const waitsQuietly = time.Second

// tellWaiting says of a sender whose receiver is not there yet what it waits for, until over is
// called.
func tellWaiting(cmd *cobra.Command, end *endpoint.End, spec wire.EndSpec, sch wire.Schedule) (over func()) {
	if spec.Role != stream.TX {
		return func() {}
	}
	done := make(chan struct{})
	var said sync.WaitGroup
	said.Go(func() {
		select {
		case <-end.Met():
			return
		case <-done:
			return
		case <-time.After(waitsQuietly):
		}
		limit := "for ever"
		if sch.PeerWaitNs > 0 {
			limit = "for " + time.Duration(sch.PeerWaitNs).String()
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: waiting %s (--connect-timeout) for a receiver that listens on %s and has "+
			"all its flows: start zcrecv --listen %[3]s there\n", cmd.Name(), limit, spec.Addr)
	})
	return func() {
		close(done)
		said.Wait()
	}
}

// CheckDuration refuses a duration that measures nothing.
func CheckDuration(cmd *cobra.Command, d time.Duration) error {
	if cmd.Flags().Changed("duration") && d <= 0 {
		return Usagef("--duration %v: must be more than 0", d)
	}
	return nil
}
