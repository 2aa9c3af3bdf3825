// SPDX-License-Identifier: MIT

// Package hugepages knows the pool of huge pages: how many there are, how many are free, and how to
// wait for those that are on their way back. The kernel gives back what a closed io_uring held in
// its own time (io_ring_exit_work of io_uring/io_uring.c, page_pool_release_retry of
// net/core/page_pool.c, once a second): a run that follows another finds the pool empty at first.
package hugepages

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Size is that of a page of the pool, bytes.
const Size = 2 << 20

// Pages computes how many pages of the pool hold so many bytes.
func Pages(bytes int) int { return (bytes + Size - 1) / Size }

// Pool is the kernel's pool of huge pages of [Size]. Its files are of mm/hugetlb_sysfs.c.
type Pool struct {
	Total    int // pages, surplus ones included
	Free     int // of them, those that nobody uses
	Reserved int // of the free ones, those that somebody has mapped and not touched yet
	Surplus  int // of all, those beyond nr_hugepages
	Over     int // how many surplus ones there may be
	Nodes    []node
}

// node is the part of a NUMA node.
type node struct{ ID, Total, Free int }

// folder has the pool's files, below sys.
const folder = "hugepages/hugepages-2048kB"

// Read reads the pool below sys, "/sys" but in tests. A kernel without such pages has no pool: the
// error is then of [os.ErrNotExist].
func Read(sys string) (p Pool, err error) {
	dir := filepath.Join(sys, "kernel/mm", folder)
	for _, x := range []struct {
		name string
		into *int
	}{{"nr_hugepages", &p.Total}, {"free_hugepages", &p.Free}, {"resv_hugepages", &p.Reserved},
		{"surplus_hugepages", &p.Surplus}, {"nr_overcommit_hugepages", &p.Over}} {
		if *x.into, err = number(filepath.Join(dir, x.name)); err != nil {
			return Pool{}, err
		}
	}
	nodes, _ := filepath.Glob(filepath.Join(sys, "devices/system/node/node*", folder))
	for _, d := range nodes {
		name := filepath.Base(filepath.Dir(filepath.Dir(d)))
		id, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		total, terr := number(filepath.Join(d, "nr_hugepages"))
		free, ferr := number(filepath.Join(d, "free_hugepages"))
		if errors.Join(err, terr, ferr) == nil {
			p.Nodes = append(p.Nodes, node{id, total, free})
		}
	}
	return p, nil
}

// number reads a count. Below 0, which reads as almost 2^64, is none: while a mapping is gone and
// something still holds its pages, as a ring does, the kernel counts fewer than no reserved ones
// (seen with Linux 7.2).
func number(path string) (int, error) {
	b, err := kernelfile.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return max(0, int(n)), err
}

// Available computes how many pages somebody could have at once.
func (p Pool) Available() int { return max(0, p.Free-p.Reserved) + max(0, p.Over-p.Surplus) }

// Holds reports whether the pool would have so many pages if nobody else had any.
func (p Pool) Holds(pages int) bool { return p.Total+max(0, p.Over-p.Surplus) >= pages }

// String words "3 of 32 huge pages of 2 MiB are free", with the nodes' where there are several.
func (p Pool) String() string {
	s := fmt.Sprintf("%d of %d huge pages of 2 MiB are free", max(0, p.Free-p.Reserved), p.Total)
	if len(p.Nodes) < 2 {
		return s
	}
	var of []string
	for _, n := range p.Nodes {
		of = append(of, fmt.Sprintf("%d of %d on node %d", n.Free, n.Total, n.ID))
	}
	return s + " (" + strings.Join(of, ", ") + ")"
}

// Short is the error where huge pages could not be had.
type Short struct {
	Need   int // pages
	Pool   Pool
	Read   error         // why the pool is not known; nil: it is
	Waited time.Duration // for pages on their way back
}

func (e *Short) Error() string {
	s := unix.ENOMEM.Error() + " (ENOMEM)"
	switch {
	case errors.Is(e.Read, os.ErrNotExist):
		return s + ": this kernel has no huge pages of 2 MiB"
	case e.Read != nil:
		return fmt.Sprintf("%s: %d huge pages of 2 MiB are needed, and how many there are is not known: %v", s, e.Need,
			e.Read)
	}
	s = fmt.Sprintf("%s: %d are needed, and %v", s, e.Need, e.Pool)
	if e.Waited > 0 {
		s += fmt.Sprintf(", %v later", e.Waited)
	}
	return s
}

// Unwrap returns ENOMEM.
func (e *Short) Unwrap() error { return unix.ENOMEM }

// Busy reports whether the machine has enough pages, and others have them: no matter of what can
// run here.
func (e *Short) Busy() bool { return e.Read == nil && e.Pool.Holds(e.Need) }

// Fix advises what to do. A pool is never made smaller than it is.
func (e *Short) Fix() string {
	need := max(e.Pool.Total, e.Pool.Total-e.Pool.Available()+e.Need)
	on := remedy.On{Value: fmt.Sprintf("%s (before: %d)", reserving(need), e.Pool.Total), Facts: e.fact}
	if e.Read != nil {
		on.Value = strconv.Itoa(e.Need)
	}
	return remedy.How(remedy.MmapHuge, unix.ENOMEM, on)
}

// fact answers what the table of errnos asks.
func (e *Short) fact(f remedy.Fact) (words string, holds bool) {
	none := errors.Is(e.Read, os.ErrNotExist)
	return "", map[remedy.Fact]bool{
		remedy.HugeNone:      none,
		remedy.HugeUnknown:   e.Read != nil && !none,
		remedy.HugeElsewhere: e.Busy() && e.Pool.Available() >= e.Need,
		remedy.HugeHeld:      e.Busy() && e.Pool.Available() < e.Need,
	}[f]
}

// meminfo names the size of the pages that vm.nr_hugepages counts. Tests have another.
var meminfo = "/proc/meminfo"

// reserving words the command that makes the pool so many pages. The sysctl is about the pages of
// the default size, which may be another.
func reserving(pages int) string {
	b, _ := kernelfile.ReadFile(meminfo) // where it is not known, the file is right in any case
	_, after, _ := strings.Cut(string(b), "\nHugepagesize:")
	if f := strings.Fields(after); len(f) > 0 && f[0] == strconv.Itoa(Size>>10) {
		return fmt.Sprintf("sysctl -w vm.nr_hugepages=%d", pages)
	}
	return fmt.Sprintf("echo %d > /sys/kernel/mm/%s/nr_hugepages", pages, folder)
}

// within is how long pages may be on their way back. Tests shorten it.
var within = 10 * time.Second

// again is how long it takes from one try to the next.
const again = 20 * time.Millisecond

// read reads this machine's pool. Tests have another.
var read = func() (Pool, error) { return Read("/sys") }

// over tells that the process is to end.
var over atomic.Bool

// GiveUp ends all waits, now and later, as if their time were over: the process is to end.
func GiveUp() { over.Store(true) }

// Await calls try, which asks the kernel for so many bytes of huge pages, again while it fails with
// ENOMEM and the machine has enough pages: those of a ring that was closed come back in the
// kernel's own time. Where they do not, or there are too few, or with [GiveUp], it fails with a
// [*Short]; what else try fails with is returned as it is.
func Await(bytes int, try func() error) error {
	begun := time.Now()
	for {
		err := try()
		if !errors.Is(err, unix.ENOMEM) {
			return err
		}
		e := &Short{Need: Pages(bytes)}
		e.Pool, e.Read = read()
		if !e.Busy() {
			return e
		}
		if e.Waited = time.Since(begun).Round(time.Second); time.Since(begun) >= within || over.Load() {
			return e
		}
		time.Sleep(again)
	}
}
