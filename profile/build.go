// SPDX-License-Identifier: MIT

package profile

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/profile/perf"
)

// Builder adds samples up. It knows each stack of addresses once; names are looked for when all
// are there.
type Builder struct {
	byAddr map[string]*rawStack
	key    []byte
	left   uint64
	full   int
}

// rawStack is samples with the same addresses of the same process.
type rawStack struct {
	pid           int
	kernel, user  []uint64
	count, weight uint64
}

// maxAddresses bounds those of all stacks that are kept: 512 MB, beyond which samples of new
// stacks are counted and left out.
const maxAddresses = 64 << 20

// NewBuilder makes one without samples.
func NewBuilder() *Builder { return &Builder{byAddr: map[string]*rawStack{}} }

// Add adds a sample.
func (b *Builder) Add(s *perf.Sample) {
	k := binary.NativeEndian.AppendUint64(b.key[:0], uint64(s.PID))
	k = binary.NativeEndian.AppendUint64(k, uint64(len(s.Kernel)))
	for _, chain := range [][]uint64{s.Kernel, s.User} {
		for _, a := range chain {
			k = binary.NativeEndian.AppendUint64(k, a)
		}
	}
	b.key = k
	r := b.byAddr[string(k)]
	if r == nil {
		n := len(s.Kernel) + len(s.User)
		if b.full+n > maxAddresses {
			b.left++
			return
		}
		b.full += n
		r = &rawStack{pid: s.PID, kernel: slices.Clone(s.Kernel), user: slices.Clone(s.User)}
		b.byAddr[string(k)] = r
	}
	r.count++
	r.weight += s.Period
}

// FromRecording adds up what was recorded from one time to another, both in CLOCK_MONOTONIC;
// 0, 0 is all of it, of which nobody says how long it was.
func FromRecording(r *perf.Recording, fromNs, toNs int64, names Names) (*Profile, error) {
	of := perf.Span{FromNs: fromNs, ToNs: toNs}
	if toNs == 0 {
		of.ToNs = math.MaxInt64
	}
	p, err := FromSpans(r, []perf.Span{of}, names)
	if err == nil {
		p.WallNs = toNs - fromNs
	}
	return p, err
}

// FromSpans adds up what was recorded in several times, which are in their order: the turns of one
// of those that take turns.
func FromSpans(r *perf.Recording, spans []perf.Span, names Names) (*Profile, error) {
	b := NewBuilder()
	tally, err := r.Within(spans, func(s *perf.Sample) {
		s.Period = whole(s.Period, r.Shares[s.CPU])
		b.Add(s)
	})
	if err != nil {
		return nil, err
	}
	p := b.Build(names, r.Event)
	p.Tally, p.Hz, p.CPUs = tally, r.Hz, r.CPUs
	for _, s := range spans {
		p.WallNs += s.ToNs - s.FromNs
	}
	p.Threads, p.Share, p.RanNs = r.Threads, r.Share, r.RanNs
	return p, nil
}

// whole scales a sample up to what it stands for on a CPU whose event had a counter for a share of
// the time (0: unknown): what passed meanwhile was like what it counted there.
func whole(period uint64, share float64) uint64 {
	if share <= 0 || share >= 1 {
		return period
	}
	return uint64(float64(period)/share + .5)
}

// Build gives all stacks names, accounts and classes, and adds up those that are then the same.
func (b *Builder) Build(names Names, event perf.Event) *Profile {
	p := &Profile{Event: event, LeftOut: b.left}
	merged := map[string]*Stack{}
	for _, r := range b.byAddr {
		s := r.stack(names)
		s.Class = classify(&s, event.NMI)
		p.Samples += s.Count
		key := s.key()
		if m := merged[key]; m != nil {
			m.Count, m.Weight = m.Count+s.Count, m.Weight+s.Weight
			continue
		}
		merged[key] = &s
	}
	keys := make([]string, 0, len(merged))
	for k := range merged {
		keys = append(keys, k)
	}
	// The heaviest first, equal ones by name: the same samples make the same profile.
	slices.SortFunc(keys, func(x, y string) int {
		return cmp.Or(cmp.Compare(merged[y].Weight, merged[x].Weight), cmp.Compare(x, y))
	})
	for _, k := range keys {
		p.Stacks = append(p.Stacks, *merged[k])
	}
	return p
}

// stack names a stack. Only the very first address is one where the CPU was; the others are
// returned to.
func (r *rawStack) stack(names Names) Stack {
	s := Stack{PID: r.pid, Count: r.count, Weight: r.weight}
	kernel := make([]Frame, 0, len(r.kernel)+len(r.user))
	for i, a := range r.kernel {
		kernel = append(kernel, names.Kernel(a, i > 0))
	}
	s.Where, s.Frames = account(kernel)
	if s.Where == Thread && r.pid <= 0 && len(r.user) == 0 && idle(kernel) {
		s.Where = Idle
	}
	if s.Where != Thread {
		s.PID = 0
		return s
	}
	if r.pid <= 0 {
		s.Comm, s.PID = "[outside]", 0
		return s
	}
	s.Comm = names.Comm(r.pid)
	for i, a := range r.user {
		s.Frames = append(s.Frames, names.User(r.pid, a, i > 0 || len(r.kernel) > 0))
	}
	return s
}

// key tells stacks apart by names.
func (s *Stack) key() string {
	var k strings.Builder
	k.WriteString(string(s.Where) + "\x00" + s.Comm + "\x00" + strconv.Itoa(s.PID))
	for _, f := range s.Frames {
		k.WriteByte(0)
		if f.Kernel {
			k.WriteByte(1)
		}
		k.WriteString(f.Name + "\x01" + f.Module)
	}
	return k.String()
}
