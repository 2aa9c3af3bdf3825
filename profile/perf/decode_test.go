// SPDX-License-Identifier: MIT

package perf

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	markKernel = ^uint64(0x80 - 1)
	markUser   = ^uint64(0x200 - 1)
	markGuest  = ^uint64(0x800 - 1)
)

// record is one as the kernel writes it.
func record(kind uint32, misc uint16, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, misc)
	b = binary.NativeEndian.AppendUint16(b, uint16(headerLen+len(body)))
	return append(b, body...)
}

func words(v ...uint64) (b []byte) {
	for _, x := range v {
		b = binary.NativeEndian.AppendUint64(b, x)
	}
	return b
}

// sampled is a sample at a time, of process 7, thread 8, on CPU 3, of period 1000.
func sampled(atNs, ip uint64, misc uint16, chain ...uint64) []byte {
	return record(unix.PERF_RECORD_SAMPLE, misc,
		words(append([]uint64{ip, 8<<32 | 7, atNs, 3, 1000, uint64(len(chain))}, chain...)...))
}

func TestDecode(t *testing.T) {
	data := slices.Concat(
		sampled(10, 0xa, modeKernel, markKernel, 0xa, 0xb, markUser, 0xc, markGuest, 0xd),
		record(unix.PERF_RECORD_LOST, 0, words(1, 42)),
		record(unix.PERF_RECORD_THROTTLE, 0, words(1, 2, 3)),
		record(99, 0, nil),
		sampled(20, 0xe, modeUser),
		sampled(30, 0xf, modeKernel),
		record(unix.PERF_RECORD_SAMPLE, 0, words(1, 2, 3, 4, 5, 1000)), // says to have more addresses than it has
		record(unix.PERF_RECORD_SAMPLE, 0, words(1)),
	)
	var got []Sample
	tally, err := each(data, func(s *Sample) {
		c := *s
		c.Kernel, c.User = slices.Clone(s.Kernel), slices.Clone(s.User)
		got = append(got, c)
	})
	if err != nil || tally != (Tally{Samples: 3, Lost: 42, Throttled: 1, Odd: 2}) {
		t.Errorf("%+v, %v", tally, err)
	}
	want := []Sample{{10, 3, 7, 8, 1000, []uint64{0xa, 0xb}, []uint64{0xc}}, {20, 3, 7, 8, 1000, nil, []uint64{0xe}},
		{30, 3, 7, 8, 1000, []uint64{0xf}, nil}}
	if !slices.EqualFunc(got, want, func(a, b Sample) bool {
		return a.AtNs == b.AtNs && a.CPU == b.CPU && a.PID == b.PID && a.TID == b.TID && a.Period == b.Period &&
			slices.Equal(a.Kernel, b.Kernel) && slices.Equal(a.User, b.User)
	}) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A window has the samples from its beginning to before its end.
func TestWindow(t *testing.T) {
	r := Recording{data: slices.Concat(sampled(10, 1, modeUser), sampled(20, 1, modeUser), sampled(30, 1, modeUser)),
		left: 5}
	for _, x := range []struct{ from, to, want int64 }{{0, 0, 3}, {10, 30, 2}, {11, 20, 0}, {20, 31, 2}} {
		n := int64(0)
		tally, err := r.Each(x.from, x.to, func(*Sample) { n++ })
		if err != nil || n != x.want || tally.Samples != uint64(n) || tally.Left != 5 {
			t.Errorf("%d to %d: %d samples, %+v, %v; want %d", x.from, x.to, n, tally, err, x.want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	whole := sampled(10, 1, modeUser)
	short := slices.Clone(whole)
	binary.NativeEndian.PutUint16(short[6:], 4)
	for _, x := range []struct {
		data []byte
		want string
	}{{whole[:len(whole)-8], "a record of"}, {whole[:4], "middle of a record"}, {short, "a record of 4 bytes"}} {
		if _, err := each(x.data, func(*Sample) {}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(slices.Concat(sampled(10, 0xa, modeKernel, markKernel, 0xa, markUser, 0xc),
		record(unix.PERF_RECORD_LOST, 0, words(1, 42))))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := uint64(0)
		tally, _ := each(data, func(s *Sample) {
			if n++; len(s.Kernel)+len(s.User) > maxChain {
				t.Fatalf("%d addresses", len(s.Kernel)+len(s.User))
			}
		})
		if tally.Samples != n {
			t.Fatalf("%d samples, told %d", n, tally.Samples)
		}
	})
}

// The count of what there is no room for ends, wherever a ring is cut and whatever is in it, and
// is right where the kernel's records are whole.
func FuzzRecords(f *testing.F) {
	whole := slices.Concat(sampled(10, 0xa, modeKernel, markKernel, 0xa), record(unix.PERF_RECORD_LOST, 0,
		words(1, 42)))
	for _, cut := range []int{0, 8, 16, len(whole) - 8, len(whole)} {
		f.Add(whole, cut)
	}
	f.Add(whole[:len(whole)-4], 12)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = min(max(cut, 0), len(data))
		n, all := records(data[:cut], data[cut:]), records(data, nil)
		if n > all || all > uint64(len(data)/headerLen) {
			t.Fatalf("%d records, %d uncut, of %d bytes", n, all, len(data))
		}
		if _, err := each(data, func(*Sample) {}); err == nil && cut%8 == 0 && aligned(data) && n != all {
			t.Fatalf("cut at %d: %d records, want %d", cut, n, all)
		}
	})
}

// aligned tells that all records begin at multiples of 8 bytes, as the kernel's do.
func aligned(data []byte) bool {
	for len(data) > 0 {
		size := binary.NativeEndian.Uint16(data[6:])
		if size%8 != 0 {
			return false
		}
		data = data[size:]
	}
	return true
}

// A ring that wraps around gives its records in two pieces; the count of what there is no room
// for is right wherever they are cut.
func TestSpool(t *testing.T) {
	data := slices.Concat(sampled(10, 1, modeUser), sampled(20, 1, modeKernel, markKernel, 1, 2, 3),
		record(unix.PERF_RECORD_LOST, 0, words(1, 42)))
	for cut := 0; cut <= len(data); cut += 8 {
		if n := records(data[:cut], data[cut:]); n != 3 {
			t.Errorf("cut at %d: %d records, want 3", cut, n)
		}
	}
	s, err := newSpool(4096)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	if n := testing.AllocsPerRun(1, func() {
		for s.left == 0 {
			s.keep(data[:16], data[16:])
			if s.left == 0 {
				kept++
			}
		}
		s.keep(data, nil)
	}); n != 0 {
		t.Errorf("keeping samples allocates (%v)", n)
	}
	// AllocsPerRun runs it twice
	if s.left != 3*uint64(1+2) || kept != 4096/len(data) || len(s.kept()) != kept*len(data) {
		t.Errorf("%d left, %d kept, %d bytes", s.left, kept, len(s.kept()))
	}
	if err := s.free(); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	sysctl := func(name string) string {
		return map[string]string{"perf_event_paranoid": "3", "perf_event_mlock_kb": "516",
			"perf_event_max_sample_rate": "500"}[name]
	}
	for _, x := range []struct {
		err  error
		want string
	}{{unix.EACCES, "perf_event_paranoid is 3"}, {unix.EPERM, "seccomp"}, {unix.ENOSYS, "CONFIG_PERF_EVENTS"},
		{unix.EMFILE, "ulimit -n"}, {unix.ESRCH, "has ended"}, {unix.ENODEV, "offline"},
		{unix.EINVAL, "newer kernel"}} {
		err := refusal(x.err, "CPU 1", 999, sysctl)
		text := err.Error() + "; fix: " + err.(interface{ Fix() string }).Fix()
		if !strings.Contains(text, x.want) || !strings.Contains(text, "perf_event_open for CPU 1") {
			t.Errorf("%q has no %q", text, x.want)
		}
	}
	err := mapRefusal(unix.EPERM, 1, sysctl)
	if !strings.Contains(err.Error(), "perf_event_mlock_kb is 516") {
		t.Error(err)
	}
	err = refusal(unix.EINVAL, "CPU 1", 1<<30, sysctl) // more often than any kernel samples
	if fix := err.(interface{ Fix() string }).Fix(); !strings.Contains(fix, "perf_event_max_sample_rate=N") {
		t.Errorf("%v; fix: %s", err, fix)
	}
	for _, e := range []unix.Errno{unix.ENOENT, unix.EOPNOTSUPP, unix.EBUSY} {
		if !absent(refusal(e, "CPU 1", 999, sysctl)) {
			t.Errorf("%v is not taken for a lack of cycles", e)
		}
	}
	if absent(refusal(unix.EACCES, "CPU 1", 999, sysctl)) || absent(nil) {
		t.Error("a refusal is taken for a lack of cycles")
	}
}

// Of several spans, each has the samples from its beginning to before its end, and what lies
// between them is nobody's.
func TestWithin(t *testing.T) {
	var data []byte
	for _, at := range []uint64{5, 10, 19, 20, 25, 30, 39, 40} {
		data = append(data, sampled(at, 1, modeUser)...)
	}
	r := Recording{data: data}
	var got []int64
	tally, err := r.Within([]Span{{10, 20}, {30, 40}}, func(s *Sample) { got = append(got, s.AtNs) })
	if err != nil || tally.Samples != 4 || !slices.Equal(got, []int64{10, 19, 30, 39}) {
		t.Errorf("%v, %+v, %v", got, tally, err)
	}
	if tally, err := r.Within(nil, func(*Sample) {}); err != nil || tally.Samples != 0 {
		t.Errorf("%+v without a span, %v", tally, err)
	}
}
