// SPDX-License-Identifier: MIT

package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// End are the flags that zcrecv and zcsend share.
type End struct {
	Role      stream.Role
	Cell      plan.Cell
	Duration  time.Duration
	Dev       string
	CPUs      cpulist.Flag
	Cookie    string
	MaxCopied float64
	JSON      bool
	Verbose   bool

	sized bool // the size of a message was given
}

// StandaloneBuffer is the receive buffer of a receiver on its own, unless it is told another, or
// the size of a message: it stays in the cache, as that of other such tools does.
const StandaloneBuffer = 256 << 10

// AddFlags defines the flags.
func (e *End) AddFlags(cmd *cobra.Command) {
	mode := plan.LookupOption(string(e.Role))
	AddOptions(cmd, &e.Cell, pathOptions(e.Role))
	f := cmd.Flags()
	f.Var(&optionFlag{option: mode, cell: &e.Cell, flags: f, text: mode.Default}, "mode",
		"data path: "+strings.Join(mode.Choices(), ", "))
	_ = mode.Set(&e.Cell, mode.Default)
	e.CPUs = cpulist.Flag{-1}
	f.Var(&e.CPUs, "cpu", "CPU to pin the thread to, or a list for several flows; -1: not pinned")
	f.StringVar(&e.Cookie, "cookie", "",
		"32 hexadecimal digits that identify the flow, the same at both ends (default: all zeros)")
	f.Float64Var(&e.MaxCopied, "max-copied", 100*end.DefaultMaxCopied,
		"percentage of the payload that the kernel may copy before a zero-copy run is invalid")
	f.BoolVar(&e.JSON, "json", false, "print the result as one JSON object")
	f.BoolVar(&e.Verbose, "verbose", false, VerboseUsage)
	cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(mode.Choices(), cobra.ShellCompDirectiveNoFileComp))
}

// Spec makes the end's spec of the flags of cmd.
func (e *End) Spec(cmd *cobra.Command, addr string) (wire.EndSpec, error) {
	e.sized = cmd.Flags().Changed(plan.LookupOption("message").FlagName())
	s := wire.EndSpec{Role: e.Role, Cell: e.Cell, Addr: addr, Dev: e.Dev}
	for i := range plan.Options { // defaults of options that mean nothing here
		o := &plan.Options[i]
		if f := cmd.Flags().Lookup(o.FlagName()); f != nil && !f.Changed && !o.Concerns(&s.Cell) {
			o.Clear(&s.Cell)
		}
	}
	if err := plan.SpareCPUs(e.Role, e.CPUs, s.Cell); err != nil {
		return s, Usagef("--cpu: %w", err)
	}
	for n := range s.Cell.NFlows() {
		s.Flows = append(s.Flows, wire.FlowSpec{CPU: e.CPUs[n%s.Cell.NThreads(e.Role)%len(e.CPUs)]}) // a thread has one
	}
	if s.Cell.MovesPackets() && !s.Cell.RoundTrips() && !e.sized {
		s.Cell.MessageBytes = stream.DefaultDatagramBytes
	}
	if m, err := modes.Find(e.Role, s.Mode()); err == nil && m.Has(stream.Buffered) && s.Cell.RXBuffer == 0 &&
		!e.sized {
		s.Cell.RXBuffer = StandaloneBuffer
	}
	if e.Cookie != "" {
		if err := s.Cookie.UnmarshalText([]byte(e.Cookie)); err != nil {
			return s, Usagef("--cookie: %w", err)
		}
	}
	return s, nil
}

// waitFlag names the flag of the time to wait for the other end.
var waitFlag = map[stream.Role]string{stream.RX: "--accept-timeout", stream.TX: "--connect-timeout"}

// Schedule makes the schedule of an end that runs on its own.
func (e *End) Schedule(peerWait time.Duration) (wire.Schedule, error) {
	if peerWait < 0 {
		return wire.Schedule{}, Usagef("%s %v: must not be negative", waitFlag[e.Role], peerWait)
	}
	if err := e.Cell.CheckRequests(e.Duration); err != nil {
		return wire.Schedule{}, OptionError(err)
	}
	s := wire.Schedule{DurationNs: int64(e.Duration), PeerWaitNs: int64(peerWait)}
	var err error
	s.MaxCopiedFrac, err = CopiedFraction(e.MaxCopied)
	return s, err
}

// CopiedFraction converts --max-copied to a fraction.
func CopiedFraction(percent float64) (*float64, error) {
	if !(percent >= 0 && percent <= 100) { // NaN too
		return nil, Usagef("--max-copied %g: must be 0 to 100 percent", percent)
	}
	percent /= 100
	return &percent, nil
}
