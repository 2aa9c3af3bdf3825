// SPDX-License-Identifier: MIT

// Package bpf holds zcbench's eBPF programs and reads them: the latency of the
// receive path by stage, a process's system calls, counters of the zero-copy path,
// the packets that the kernel drops, and who had each CPU.
//
// Every program is loaded by itself, because kernels differ in what they have
// and what they allow: a stage names its programs in order of preference
// (fentry, which sits at the very function, then the tracepoint next to it), and
// one that cannot be loaded is a reason in the output ([Hook]), not a failure.
//
// The programs are compiled ahead of time and find the members that they read in
// the running kernel's BTF: the objects are committed and serve all kernels from
// 6.6 on. `go generate ./bpf` makes them again, with clang 14.
package bpf

//go:generate ../mk/bpf2go.sh latency latency.bpf.c
//go:generate ../mk/bpf2go.sh syscalls syscalls.bpf.c
//go:generate ../mk/bpf2go.sh path path.bpf.c
//go:generate ../mk/bpf2go.sh overhead overhead.bpf.c
//go:generate ../mk/bpf2go.sh drops drops.bpf.c
//go:generate ../mk/bpf2go.sh tasks tasks.bpf.c
//go:generate ../mk/bpf2go.sh redirect redirect.bpf.c
//go:generate go run ./internal/sysnum
