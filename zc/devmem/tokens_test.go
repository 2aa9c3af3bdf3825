// SPDX-License-Identifier: MIT

package devmem

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/held"
)

// kernel is the other side of SO_DEVMEM_DONTNEED: it has handed tokens out and
// frees them once.
type kernel struct {
	t    testing.TB
	out  map[uint32]bool
	free []uint32 // that it may hand out again
}

func (k *kernel) release(_ int, ranges []sock.TokenRange) (int, unix.Errno) {
	if len(ranges) > sock.MaxTokenRanges {
		return 0, unix.EINVAL
	}
	freed, seen := 0, 0
	for _, r := range ranges {
		for i := range r.Count {
			if seen++; seen > sock.MaxTokenFrags {
				return freed, 0
			}
			if k.out[r.Start+i] {
				delete(k.out, r.Start+i)
				k.free = append(k.free, r.Start+i)
				freed++
			}
		}
	}
	return freed, 0
}

// hand gives the application a fragment, with a token of its choice.
func (k *kernel) hand(tk *tokens, token, size uint32) {
	if k.out[token] {
		k.t.Fatalf("token %d is out", token)
	}
	k.out[token] = true
	tk.take(token, size)
}

func newPair(t testing.TB, hold, batch int) (*tokens, *kernel, *stream.Meter) {
	k := &kernel{t: t, out: map[uint32]bool{}}
	tk := newTokens(hold, batch)
	tk.release = k.release
	return tk, k, new(stream.Meter)
}

func TestBatches(t *testing.T) {
	for _, c := range []struct {
		batch  int
		reads  []int
		calls  []uint64 // in all, after each read
		ranges uint64
	}{
		{1, []int{1, 5, 1500}, []uint64{1, 2, 4}, 4},
		{64, []int{63, 1, 200, 10}, []uint64{0, 1, 2, 2}, 2},
		{512, []int{511, 600, 100, 325, 1}, []uint64{0, 1, 1, 2, 2}, 2},
		{1024, []int{1023, 1, 3000}, []uint64{0, 1, 3}, 3},
	} {
		tk, k, m := newPair(t, 0, c.batch)
		next := uint32(0)
		for i, n := range c.reads {
			for range n {
				k.hand(tk, next, 4096)
				next++
			}
			if err := tk.give(0, m); err != nil {
				t.Fatal(err)
			}
			if tk.calls != c.calls[i] {
				t.Errorf("batch %d: %d calls after read %d of %v, want %v", c.batch, tk.calls, i, c.reads, c.calls)
			}
			if tk.ripe >= c.batch || tk.ripe != tk.held.Count() {
				t.Errorf("batch %d: %d gathered, %d held", c.batch, tk.ripe, tk.held.Count())
			}
		}
		if tk.ranges != c.ranges {
			t.Errorf("batch %d: %d ranges, want %d", c.batch, tk.ranges, c.ranges)
		}
		if err := tk.giveAll(0, m); err != nil || len(k.out) != 0 || tk.held.Bytes() != 0 {
			t.Errorf("batch %d: %v; %d out, %d bytes held", c.batch, err, len(k.out), tk.held.Bytes())
		}
		if m.Snapshot().Calls != tk.calls {
			t.Errorf("batch %d: %d calls, counted %d", c.batch, tk.calls, m.Snapshot().Calls)
		}
	}
}

// The youngest bytes up to hold are kept, and all come back at the end.
func TestHold(t *testing.T) {
	tk, k, m := newPair(t, 10*4096, 1)
	for i := range uint32(100) {
		k.hand(tk, i, 4096)
		if err := tk.give(0, m); err != nil {
			t.Fatal(err)
		}
		if want := min(int(i)+1, 10) * 4096; tk.held.Bytes() != want {
			t.Fatalf("%d bytes held after %d fragments, want %d", tk.held.Bytes(), i+1, want)
		}
	}
	if err := tk.giveAll(0, m); err != nil || len(k.out) != 0 || tk.early != 0 {
		t.Errorf("%v; %d out, %d early", err, len(k.out), tk.early)
	}
}

// Tokens in no order, with gaps: never too many ranges, nothing lost.
func TestRandomTokens(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		tk, k, m := newPair(t, r.IntN(1<<20), 1+r.IntN(1024))
		for i := range uint32(1 << 16) {
			k.free = append(k.free, i*uint32(1+seed%3))
		}
		handed := uint64(0)
		for range 20 {
			for range r.IntN(1000) {
				at := r.IntN(len(k.free))
				if seed%2 == 0 {
					at = len(k.free) - 1
				}
				token := k.free[at]
				k.free[at] = k.free[len(k.free)-1]
				k.free = k.free[:len(k.free)-1]
				k.hand(tk, token, uint32(1+r.IntN(4096)))
				handed++
			}
			if err := tk.give(0, m); err != nil {
				t.Fatal(err)
			}
		}
		if err := tk.giveAll(0, m); err != nil || len(k.out) != 0 || tk.freed != handed || tk.held.Bytes() != 0 ||
			tk.ripe != 0 || tk.ripeBytes != 0 {
			t.Errorf("seed %d: %v; %d out, freed %d of %d", seed, err, len(k.out), tk.freed, handed)
		}
	}
}

// An application that would hold more pieces than there are places gives the
// oldest back, and says so.
func TestMakeRoom(t *testing.T) {
	tk, k, m := newPair(t, 1<<40, 512)
	for i := range uint32(held.Max + 5000) {
		if err := tk.makeRoom(0, 1, m); err != nil {
			t.Fatal(err)
		}
		k.hand(tk, i, 1)
	}
	if tk.early == 0 || tk.held.Count() > held.Max {
		t.Errorf("%d early, %d held", tk.early, tk.held.Count())
	}
	if err := tk.giveAll(0, m); err != nil || len(k.out) != 0 {
		t.Errorf("%v; %d out", err, len(k.out))
	}
}

// A kernel that frees less than it was given back has lost track, and so has one
// that refuses.
func TestFreedIsChecked(t *testing.T) {
	tk, k, m := newPair(t, 0, 1)
	k.hand(tk, 1, 4096)
	tk.take(2, 4096) // never handed out
	if err := tk.give(0, m); err == nil || !strings.Contains(err.Error(), "freed 1 of 2 fragments") {
		t.Error(err)
	}
	remedytest.Try(t, remedy.DontNeed, "SO_DEVMEM_DONTNEED", func(errno unix.Errno) error {
		tk.release = func(int, []sock.TokenRange) (int, unix.Errno) { return 0, errno }
		return tk.giveAll(0, m)
	})
	remedytest.Try(t, remedy.DontNeed, "SO_DEVMEM_DONTNEED", remedytest.Denied(unix.SYS_SETSOCKOPT, probeSocket))
}

// A sender is told which way its flow goes.
func TestRefusedSender(t *testing.T) {
	s := &Sender{dev: &nic.Device{Name: "eth9"}}
	s.flow.Op = "sendmsg"
	err := s.explain(&stream.Conn{Remote: netip.MustParseAddrPort("127.0.0.1:9")}, unix.ENODEV)
	if err := remedytest.Check(remedy.SendDevmem, "by lo", unix.ENODEV, err); err != nil {
		t.Error(err)
	}
	if fix := fault.Fix(err); !strings.Contains(fix, "the route to 127.0.0.1 leaves by another interface than eth9") {
		t.Error(fix)
	}
}

func TestTokensDoNotAllocate(t *testing.T) {
	tk, m := newTokens(8192, 64), new(stream.Meter)
	tk.release = func(_ int, ranges []sock.TokenRange) (n int, _ unix.Errno) {
		for _, r := range ranges {
			n += int(r.Count)
		}
		return n, 0
	}
	next := uint32(0)
	if a := testing.AllocsPerRun(100, func() {
		for range 700 {
			tk.take(next*7919, 4096)
			next++
		}
		if tk.give(0, m) != nil {
			t.Error("give")
		}
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

func TestReads(t *testing.T) {
	var r reads
	for _, n := range []int{1, 511, 512, 1024, 1025, 1 << 30} {
		r.count(n)
	}
	got := map[string]float64{}
	r.figures(func(name, unit string, v float64) {
		if got[name] = v; measure.NewIndex(ProofMetrics, ReadMetrics).CheckRow(name, unit,
			"data path, whole flow") != nil {
			t.Error(measure.NewIndex(ProofMetrics, ReadMetrics).CheckRow(name, unit, "data path, whole flow"))
		}
	})
	for name, want := range map[string]float64{"devmem_frags": 1 + 511 + 512 + 1024 + 1025 + 1<<30,
		"devmem_frags_per_read_min": 1, "devmem_frags_per_read_max": 1 << 30,
		"devmem_reads_over_1024_frags": 2, "devmem_reads_512_to_1024_frags": 2, "devmem_reads_under_512_frags": 2,
		"devmem_reads_frags_1_to_1": 1, "devmem_reads_frags_256_to_511": 1, "devmem_reads_frags_512_to_1023": 1,
		"devmem_reads_frags_1024_to_2047": 2, "devmem_reads_frags_524288_to_1048575": 1} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
	var none reads
	none.figures(func(name, _ string, v float64) {
		if strings.HasPrefix(name, "devmem_frags_per_read") || v != 0 {
			t.Errorf("of no reads: %s %v", name, v)
		}
	})
}
