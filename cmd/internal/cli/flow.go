// SPDX-License-Identifier: MIT

package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/bench/endpoint"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/units"
)

// End are the flags that zcrecv and zcsend share.
type End struct {
	Role      stream.Role
	Mode      string
	Duration  time.Duration
	Message   units.Bytes
	RcvBuf    units.Bytes
	SndBuf    units.Bytes
	CC        string
	CPU       int
	Cookie    string
	MaxCopied float64
	Engine    string // of io_uring
	JSON      bool
	Verbose   bool
}

// AddFlags defines the flags.
func (e *End) AddFlags(cmd *cobra.Command) {
	e.Message = stream.DefaultMessageBytes
	f := cmd.Flags()
	f.StringVar(&e.Mode, "mode", "tcp", "data path: one of "+strings.Join(stream.Names(e.Role), ", "))
	f.Var(&e.Message, "message-size", "application message in bytes (suffixes K, M, G: powers of 1024)")
	f.Var(&e.RcvBuf, "rcvbuf", "SO_RCVBUF in bytes; 0 leaves the kernel's auto-tuning")
	f.Var(&e.SndBuf, "sndbuf", "SO_SNDBUF in bytes; 0 leaves the kernel's auto-tuning")
	f.StringVar(&e.CC, "congestion", "", "congestion control of the flow's socket, such as cubic")
	f.IntVar(&e.CPU, "cpu", -1, "CPU to pin the data-path thread to; -1 does not pin")
	f.StringVar(&e.Cookie, "cookie", "", "32 hexadecimal digits that both ends must agree on (default: all zero)")
	f.Float64Var(&e.MaxCopied, "max-copied", 100*endpoint.DefaultMaxCopied, "percent of the payload that the kernel may copy before a zero-copy run is invalid")
	UringEngineFlag(cmd, &e.Engine)
	f.BoolVar(&e.JSON, "json", false, "print the result as one JSON object")
	f.BoolVar(&e.Verbose, "verbose", false, VerboseUsage)
	cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(stream.Names(e.Role), cobra.ShellCompDirectiveNoFileComp))
}

// Spec makes the end's spec of the flags.
func (e *End) Spec(addr string) (wire.EndSpec, error) {
	s := wire.EndSpec{Role: e.Role, Mode: e.Mode, Addr: addr, MessageBytes: int(e.Message), RcvBuf: int(e.RcvBuf), SndBuf: int(e.SndBuf),
		Congestion: e.CC, CPU: e.CPU, UringEngine: e.Engine}
	if e.Message < 1 {
		return s, Usagef("--message-size must be at least 1 byte")
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

// CheckPace refuses a rate at which not even the handshake would come through.
func CheckPace(r units.BitRate) error {
	const least = units.BitRate(1e6)
	if r > 0 && r < least {
		return Usagef("--pace %v: must be 0 or at least %s", r, least)
	}
	return nil
}

// Schedule makes the schedule of an end that runs on its own.
func (e *End) Schedule(peerWait time.Duration) (wire.Schedule, error) {
	if peerWait < 0 {
		return wire.Schedule{}, Usagef("%s %v: must not be negative", waitFlag[e.Role], peerWait)
	}
	s := wire.Schedule{DurationNs: int64(e.Duration), PeerWaitNs: int64(peerWait)}
	if !(e.MaxCopied >= 0 && e.MaxCopied <= 100) { // NaN too
		return s, Usagef("--max-copied %g: must be 0 to 100 percent", e.MaxCopied)
	}
	frac := e.MaxCopied / 100
	s.MaxCopiedFrac = &frac
	return s, nil
}
