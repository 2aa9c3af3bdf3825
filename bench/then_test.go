// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// What the SUT's application writes is in its files, as it was sent: on a disk as far as blocks are
// whole without a copy, and in memory with one. A full file system ends the run, with what to do.
func TestIntegrationThenWrite(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.nameCPUs([]int{-1}, []int{-1}) // for several flows of few CPUs
	disk, memory := t.TempDir(), "/dev/shm"
	for _, c := range []plan.Cell{
		{ID: "tcp", RX: "tcp", TX: "tcp", Then: plan.ThenWrite(disk), Touch: "verify"},
		{ID: "uring", RX: "uring", TX: "tcp", Then: plan.ThenWrite(disk)},
		{ID: "tcp, memory", RX: "tcp", TX: "sendfile", Then: plan.ThenWrite(memory)},
		{ID: "uring, memory", RX: "uring", TX: "tcp", Then: plan.ThenWrite(memory), Touch: "verify"},
		{ID: "flows", RX: "tcp", TX: "tcp", Then: plan.ThenWrite(disk), Flows: 3},
		{ID: "uring flows", RX: "uring", TX: "tcp", Then: plan.ThenWrite(disk), Flows: 3},
		{ID: "small", RX: "tcp", TX: "tcp", Then: plan.ThenWrite(disk), MessageBytes: 1000, RXBuffer: 16 << 10},
	} {
		r.bounded(8 << 20 << c.Flows) // of all flows: each is to have some
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		on, said := rec.SUT.Then, strings.Join(rec.Warnings, "; ")
		if on == nil || rec.TG.Then != nil || on.Bytes == 0 || !(on.ThroughputGbps > 0) || on.ZeroCopyBytes == nil ||
			*on.ZeroCopyBytes+*on.CopiedBytes != on.Bytes {
			t.Errorf("%s: the SUT wrote %+v, the TG %+v", c.ID, on, rec.TG.Then)
			continue
		}
		t.Logf("%s: %d bytes without a copy, %d with one", c.ID, *on.ZeroCopyBytes, *on.CopiedBytes)
		direct := !strings.Contains(said, "all of the payload goes through the page cache")
		if direct && c.RX == "tcp" && *on.ZeroCopyBytes == 0 || !direct && *on.ZeroCopyBytes > 0 ||
			c.WritesTo() == memory && direct {
			t.Errorf("%s: direct %v: %d bytes without a copy", c.ID, direct, *on.ZeroCopyBytes)
		}
		verified := 0.0
		for _, m := range rec.SUT.Metrics {
			if strings.HasSuffix(m.Name, "then_verified_bytes") {
				verified += m.Value
			}
		}
		if uint64(verified) < on.Bytes || c.CheckTurns() == nil {
			t.Errorf("%s: %v of %d bytes were compared", c.ID, verified, on.Bytes)
		}
	}
	tiny := t.TempDir()
	if err := unix.Mount("none", tiny, "tmpfs", 0, "size=5m"); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(tiny, unix.MNT_DETACH)
	rec := r.Runner.Run(t.Context(), matrix.Run{Cell: plan.Cell{RX: "tcp", TX: "tcp", Then: plan.ThenWrite(tiny)}})
	if rec.Verdict != results.Failed || !strings.Contains(rec.Reason, "in half of the 5 MiB that are free") ||
		!strings.Contains(rec.Fix, "--then write:DIR") {
		t.Errorf("%s: %s; fix %s", rec.Verdict, rec.Reason, rec.Fix)
	}
}

// What the SUT's application passes on comes back to the TG whole and right, by several flows, too,
// and the figures of the chain are there. What splice copies nobody tells; the others copy all.
// What cannot be is refused with what can.
func TestIntegrationThen(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.nameCPUs([]int{-1}, []int{-1}) // for several flows of few CPUs
	for _, c := range []plan.Cell{
		{ID: "tcp", RX: "tcp", TX: "tcp", Then: plan.ThenForward, Touch: "verify"},
		{ID: "splice", RX: "tcp", TX: "sendfile", Then: plan.ThenSplice},
		{ID: "uring", RX: "uring", TX: "tcp", Then: plan.ThenForward},
		{ID: "flows", RX: "tcp", TX: "tcp", Then: plan.ThenForward, Flows: 3, Touch: "verify"},
		{ID: "spliced flows", RX: "tcp", TX: "tcp", Then: plan.ThenSplice, Flows: 3},
		{ID: "small", RX: "tcp", TX: "tcp", Then: plan.ThenForward, MessageBytes: 1000, SndBuf: 16 << 10},
	} {
		r.bounded(8 << 20 << c.Flows) // of all flows: each is to have some
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		sut, tg := rec.SUT.Then, rec.TG.Then
		if sut == nil || tg == nil || sut.Bytes == 0 || tg.Bytes == 0 || !(tg.ThroughputGbps > 0) ||
			tg.Mismatches == nil || *tg.Mismatches != 0 || rec.SUT.Back != nil || rec.TG.Back != nil {
			t.Errorf("%s: the SUT passed on %+v, the TG received %+v", c.ID, sut, tg)
			continue
		}
		if told := sut.CopiedBytes != nil && *sut.CopiedBytes == sut.Bytes && *sut.ZeroCopyBytes == 0; told !=
			(c.Then == plan.ThenForward) {
			t.Errorf("%s: copied of %d: %v", c.ID, sut.Bytes, sut.CopiedBytes)
		}
		if c.CheckTurns() == nil {
			t.Errorf("%s: in turns", c.ID)
		}
	}
}
