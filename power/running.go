// SPDX-License-Identifier: MIT

package power

// Running follows one source over a time of any length without keeping its
// readings: mean, largest and newest value of each channel.
type Running struct {
	Readings int      // samples so far
	LastNs   int64    // when the last one was
	Failure  *failure // the last; nil: none

	channels []runningChannel
}

// runningChannel is one channel's account.
type runningChannel struct {
	v, ns     int64 // the last reading
	known     bool  // there is one that the next may follow on
	joule     float64
	overNs    int64
	now, most float64 // watts
	any       bool
	counts    bool // it is a counter
}

// still reports whether a counter has never moved: it counts nothing, and 0 W is no reading.
func (ch *runningChannel) still() bool { return ch.counts && ch.joule == 0 }

// reading is one value of one channel; a counter's is the mean since the reading
// before.
type reading struct {
	AtNs    int64
	Channel int
	Watts   float64
}

// Take adds what a trace has that was not taken yet, and returns it in order of
// time.
func (r *Running) Take(t Trace) []reading {
	if r.channels == nil {
		r.channels = make([]runningChannel, len(t.Info.Channels))
	}
	from := 0
	if r.Readings > 0 {
		from = indexAt(t.Samples, r.LastNs+1)
	}
	var out []reading
	for _, s := range t.Samples[from:] {
		for c := range r.channels {
			ch := &r.channels[c]
			if s.Gap {
				ch.known = false
			}
			if s.V[c] == none {
				continue
			}
			if w, ok := ch.take(s.V[c], s.AtNs, t.Info.Channels[c].Kind, t.silence()); ok {
				out = append(out, reading{s.AtNs, c, w})
			}
		}
		r.Readings++
		r.LastNs = s.AtNs
	}
	if n := len(t.Failures); n > 0 {
		f := t.Failures[n-1]
		r.Failure = &f
	}
	return out
}

// take adds a reading. A sensor's stands for the time since the one before
// unless it was silent for longer than mostNs; a counter loses nothing.
func (ch *runningChannel) take(v, ns int64, kind Kind, mostNs int64) (w float64, ok bool) {
	before, passed, known := ch.v, ns-ch.ns, ch.known
	ch.v, ch.ns, ch.known, ch.counts = v, ns, true, kind == energy
	switch {
	case kind == energy && !known:
		return 0, false
	case kind == energy:
		w = watts(v-before, passed)
		ch.joule, ch.overNs = ch.joule+float64(v-before)/1e6, ch.overNs+passed
	default:
		w = float64(v) / 1e6
		if known && passed <= mostNs {
			ch.joule, ch.overNs = ch.joule+(w+float64(before)/1e6)/2*float64(passed)/1e9, ch.overNs+passed
		}
	}
	ch.now = w
	if !ch.any || w > ch.most {
		ch.most, ch.any = w, true
	}
	return w, true
}

// mean returns a channel's mean over the time that its readings cover, and the largest; not ok
// before the second reading, nor for a counter that stands still.
func (r *Running) Mean(c int) (mean, most float64, ok bool) {
	if c >= len(r.channels) || r.channels[c].overNs == 0 || r.channels[c].still() {
		return 0, 0, false
	}
	ch := r.channels[c]
	return ch.joule / (float64(ch.overNs) / 1e9), ch.most, true
}

// Newest returns a channel's last value, watts, and when it was read; not ok for a counter that
// stands still.
func (r *Running) Newest(c int) (w float64, atNs int64, ok bool) {
	if c >= len(r.channels) || !r.channels[c].any || r.channels[c].still() {
		return 0, 0, false
	}
	return r.channels[c].now, r.channels[c].ns, true
}
