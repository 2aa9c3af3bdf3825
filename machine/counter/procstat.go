// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"fmt"
)

// userHZ is the unit of /proc/stat and /proc/PID/stat: USER_HZ ticks a second,
// 100 on every architecture that this tool runs on, whatever CONFIG_HZ is.
const userHZ = 100

const tickNs = 1_000_000_000 / userHZ

// CPUTicks is one "cpuN" line of /proc/stat in USER_HZ ticks since boot, each
// column rounded down. Guest time is already inside User and Nice.
type CPUTicks struct {
	CPU                                                   int
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal uint64
}

func (t CPUTicks) sum() uint64 {
	return t.User + t.Nice + t.System + t.Idle + t.IOWait + t.IRQ + t.SoftIRQ + t.Steal
}

// parseStat appends the per-CPU lines of /proc/stat (fs/proc/stat.c, show_stat)
// to dst. It reads bytes and not an io.Reader, and is not procfs' parser,
// because the sampler must not allocate and because figures near the tick need
// the integers.
func parseStat(b []byte, dst []CPUTicks) ([]CPUTicks, error) {
	for len(b) > 0 {
		var ln []byte
		ln, b, _ = bytes.Cut(b, []byte{'\n'})
		rest, ok := bytes.CutPrefix(ln, []byte("cpu"))
		if !ok {
			break // the cpu lines come first; what follows may be cut off
		}
		if len(rest) == 0 || rest[0] == ' ' {
			continue // the sum of all
		}
		t, err := parseStatLine(rest)
		if err != nil {
			return dst, fmt.Errorf("parse /proc/stat: %w: %q: report it with the kernel's release", err, ln)
		}
		dst = append(dst, t)
	}
	return dst, nil
}

func parseStatLine(b []byte) (CPUTicks, error) {
	var t CPUTicks
	cpu, b, err := number(b)
	if err != nil || cpu > 1<<20 {
		return t, errNumber
	}
	t.CPU = int(cpu)
	for _, p := range [...]*uint64{&t.User, &t.Nice, &t.System, &t.Idle, &t.IOWait, &t.IRQ, &t.SoftIRQ, &t.Steal} {
		if *p, b, err = number(b); err != nil {
			return t, err
		}
	}
	return t, nil
}

var errNumber = fmt.Errorf("not a decimal number")

// number reads one decimal number after optional spaces.
func number(b []byte) (uint64, []byte, error) {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	var n uint64
	i := 0
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		d := uint64(b[i] - '0')
		if n > (1<<64-1-d)/10 {
			return 0, b, errNumber
		}
		n = n*10 + d
	}
	if i == 0 || i < len(b) && b[i] != ' ' {
		return 0, b, errNumber
	}
	return n, b[i:], nil
}
