// SPDX-License-Identifier: MIT

// Package xdp is the floor under every receive path: what frames cost that are dropped, passed
// on, sent back or redirected below the sockets, at the driver ([Native]) or where the stack
// begins ([Generic]), at tcx ingress and in netfilter; and the generator of such frames
// ([Generator]), which are verified by counters of the interfaces between the two ([Ledger]).
//
// Programs are attached by links of the kernel, which end with the process that holds them,
// also when it is killed: nothing of them has to be undone by others. A program of somebody
// else is never replaced. All programs touch the generator's frames alone, which they know by
// addresses and ports, and pass all else on.
//
// The programs are compiled ahead of time; `go generate ./packet/xdp` makes them again, with
// clang 14.
package xdp

//go:generate ../../mk/bpf2go.sh frames frames.bpf.c
