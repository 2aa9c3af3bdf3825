// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/results/stat"
)

// report is the whole result, as --json prints it.
type report struct {
	Kernel      string    `json:"kernel"`
	Against     string    `json:"against"`
	Zcbench     string    `json:"zcbench"`
	MTU         int       `json:"mtu"`
	DurationS   float64   `json:"duration_s"`
	TurnsS      float64   `json:"turns_s,omitempty"` // all under way at once, each so long in turn
	SenderCPU   []int     `json:"sender_cpu"`
	ReceiverCPU []int     `json:"receiver_cpu"`
	Congestion  string    `json:"congestion"`
	Nice        int       `json:"nice"`
	Buffers     string    `json:"socket_buffers"`
	Load        [2]string `json:"loadavg"` // before and after: other load widens the intervals
	Comparisons []summary `json:"comparisons"`
}

func newReport(o *options) *report {
	t := o.tools
	r := &report{Kernel: kernel(), Against: o.rivalNames(), Zcbench: version.Tool(), MTU: o.mtu,
		DurationS: o.duration.Seconds(), TurnsS: o.turns.Seconds(),
		Nice: o.nice, SenderCPU: t.SenderCPUs, ReceiverCPU: t.ReceiverCPUs, Congestion: t.Congestion,
		Buffers: "auto-tuned by the kernel, this host's tcp_rmem and tcp_wmem"}
	if o.bufMax > 0 {
		r.Buffers = fmt.Sprintf("auto-tuned by the kernel, up to %v", &o.bufMax)
	}
	if o.against != "" {
		r.Against = "the build in " + o.against
	}
	r.Load[0] = loadavg()
	return r
}

// rivalNames lists the rivals with what is known of their versions.
func (o *options) rivalNames() string {
	var names []string
	for _, r := range o.field.Rivals {
		if r == Iperf3 {
			names = append(names, o.tools.IperfVersion)
		} else {
			names = append(names, string(r))
		}
	}
	return strings.Join(names, ", ")
}

func (r *report) finish(outcomes []*Outcome) {
	r.Load[1] = loadavg()
	for _, o := range outcomes {
		r.Comparisons = append(r.Comparisons, o.summary())
	}
}

// missed reports whether a target is not met.
func (r *report) missed() bool {
	return slices.ContainsFunc(r.Comparisons, func(s summary) bool {
		return slices.ContainsFunc(s.figures(), func(f *figure) bool { return f.Verdict == stat.NotMet })
	})
}

func (r *report) print(out io.Writer) error {
	fmt.Fprintf(out, "zcbench %s against %s over veth, MTU %d, kernel %s\n", r.Zcbench, r.Against, r.MTU, r.Kernel)
	fmt.Fprintf(out, "sender on CPU %s, receiver on CPU %s, %s, nice %d, %s, socket buffers %s\n",
		counter.FormatCPUList(r.SenderCPU), counter.FormatCPUList(r.ReceiverCPU), r.Congestion, r.Nice, r.lengths(),
		r.Buffers)
	fmt.Fprintf(out, "load average before %s, after %s (the comparison itself keeps two cores busy)\n\n", r.Load[0],
		r.Load[1])
	return printTable(out, r.Comparisons, r.TurnsS > 0)
}

// lengths describes how long runs are, and how they take turns.
func (r *report) lengths() string {
	if r.TurnsS > 0 {
		return fmt.Sprintf("%g s each in turns of %g ms, all under way", r.DurationS, 1000*r.TurnsS)
	}
	return fmt.Sprintf("%g s a run", r.DurationS)
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// loadavg reads the load average over one minute.
func loadavg() string {
	b, err := kernelfile.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(b), " ")
	return one
}
