// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/lazy"
)

// ProcIRQ is one interrupt of /proc/interrupts.
type ProcIRQ struct {
	Actions []string       // what drivers call it, one for each that shares it; none: nobody has asked for it
	Counts  map[int]uint64 // how often each CPU that is online has taken it
}

// ReadInterrupts reads the counts and names of this machine's interrupts by their numbers.
func ReadInterrupts() (map[int]ProcIRQ, error) {
	path := filepath.Join(procRoot, "interrupts")
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return nil, fileError("read", path, err)
	}
	return parseInterrupts(b)
}

// notActions are what a line ends with that has no actions: the interrupt's number at its
// chip, its kind, or both.
var notActions = lazy.Regexp(`^(\d+)?[ -]*(Level|Edge|[\w-]*(edge|level|fasteoi|event|virq|ipi))?$`)

// parseInterrupts reads /proc/interrupts (kernel/irq/proc.c: irq_seq_show, Linux 7.3.4; before
// 7.1 show_interrupts, the same text). A line has the number, a count for each CPU of the first
// line, the chip, the number there, the kind, and after two spaces or more the actions. Lines of
// other names, such as NMI, are of no device.
func parseInterrupts(b []byte) (map[int]ProcIRQ, error) {
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	var cpus []int
	for name := range strings.FieldsSeq(string(head)) {
		n, err := strconv.ParseUint(strings.TrimPrefix(name, "CPU"), 10, 16)
		if err != nil {
			return nil, fmt.Errorf("read /proc/interrupts: the first line has %.40q, not the names of CPUs", name)
		}
		cpus = append(cpus, int(n))
	}
	out := map[int]ProcIRQ{}
	for line := range strings.Lines(string(rest)) {
		number, text, ok := strings.Cut(line, ":")
		irq, err := strconv.ParseUint(strings.TrimSpace(number), 10, 31)
		if !ok || err != nil {
			continue
		}
		x := ProcIRQ{Counts: map[int]uint64{}}
		for _, cpu := range cpus {
			text = strings.TrimLeft(text, " ")
			count, after, _ := strings.Cut(text, " ")
			n, err := strconv.ParseUint(strings.TrimSpace(count), 10, 64)
			if err != nil {
				return nil, fmt.Errorf(
					"read /proc/interrupts: interrupt %d has %.40q where the count of CPU %d should be", irq, count,
					cpu)
			}
			x.Counts[cpu], text = n, after
		}
		x.Actions = actionsOf(strings.TrimSpace(text))
		out[int(irq)] = x
	}
	return out, nil
}

// actionsOf splits the names at the end of a line.
func actionsOf(text string) (names []string) {
	at := strings.LastIndex(text, "  ")
	if at < 0 || notActions().MatchString(text[at+2:]) {
		return nil
	}
	for name := range strings.SplitSeq(text[at+2:], ", ") {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}
