// SPDX-License-Identifier: MIT

// Package counter reads what the kernel counts while a run lasts: processor
// time per CPU and per thread, softirqs, the softnet and protocol counters, the
// interface's statistics and TCP_INFO of the flow.
//
// [Take] makes one [Snapshot] at each edge of the steady window and [Delta]
// turns the pair into [github.com/zcbench/zcbench/measure.Metric] rows. A
// [Sampler] draws the same figures over time. A counter that this host does not
// have is missing with a warning; it is never a zero.
//
// # Processor time
//
// The columns of /proc/stat other than idle and iowait are sampled: the tick
// charges itself to whatever it interrupts. A load in step with the tick is
// therefore seen by none of them or by all. Idle time is measured at every entry
// to and exit from idle (kernel/time/tick-sched.c, get_cpu_idle_time_us), so
//
//	busy = wall - d(idle) - d(iowait)
//
// is right where the sum of the other columns is not. [Usage] reports that
// residual, uses the columns for the proportions of app, sys and soft within it
// only, and gives the sum of all columns over the wall clock as coverage.
//
// The residual needs idle time to be measured. A kernel booted with nohz=off or
// highres=off samples idle too; [ReadCPU] looks for both words and the quality
// of every figure says so.
//
// Everything namespaced is read for the network namespace of the calling
// thread: lock the goroutine to its thread when that matters.
package counter
