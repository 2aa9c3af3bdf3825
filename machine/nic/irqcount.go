// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// irqRoot is where the kernel shows each interrupt by its number; tests put a fixture there.
var irqRoot = "/sys/kernel/irq"

// IRQCount reads how often an interrupt came, on all CPUs, since it was requested
// (kernel/irq/irqdesc.c: per_cpu_count_show, Linux 7.3.4). It reads one line; /proc/interrupts
// would be a line for each interrupt of the machine.
func IRQCount(irq int) (n uint64, err error) {
	path := filepath.Join(irqRoot, strconv.Itoa(irq), "per_cpu_count")
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return 0, fileError("read", path, err)
	}
	for count := range strings.SplitSeq(strings.TrimSpace(string(b)), ",") {
		v, err := strconv.ParseUint(count, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %.40q is not a count", path, count)
		}
		n += v
	}
	return n, nil
}
