// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// Schedstat is what tasks, all but the idle one, have run on each CPU, ns (/proc/schedstat,
// kernel/sched/stats.c, show_schedstat: rq_cpu_time). A turn counts when it ends. Nil: the kernel
// does not tell (CONFIG_SCHEDSTATS).
type Schedstat map[int]int64

// Versions of the file whose seventh column that is; the last two have the same lines of CPUs.
const leastSchedstat, mostSchedstat = 15, 17

// readSchedstat reads the file.
func readSchedstat(fs FS) (Schedstat, error) {
	b, err := kernelfile.ReadFile(fs.procPath("schedstat"))
	if errors.Is(err, iofs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what tasks ran: %w", mounted(err))
	}
	return parseSchedstat(b)
}

func parseSchedstat(b []byte) (Schedstat, error) {
	var version int
	if _, err := fmt.Sscanf(string(b[:min(len(b), 32)]), "version %d", &version); err != nil {
		return nil, fmt.Errorf("read what tasks ran: /proc/schedstat has no version: %w", err)
	}
	if version < leastSchedstat || version > mostSchedstat {
		return nil, nil // nobody knows its columns
	}
	all := Schedstat{}
	for ln := range bytes.Lines(b) {
		rest, ok := bytes.CutPrefix(bytes.TrimRight(ln, "\n"), []byte("cpu"))
		if !ok {
			continue
		}
		cpu, rest, err := number(rest)
		for range 7 {
			if err == nil {
				var v uint64
				v, rest, err = number(rest)
				all[int(cpu)] = int64(v)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read what tasks ran: /proc/schedstat: %w: %q", err, ln)
		}
	}
	return all, nil
}
