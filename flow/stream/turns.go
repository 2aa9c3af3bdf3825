// SPDX-License-Identifier: MIT

package stream

import "time"

// Turns are when a flow is on, where several that are open have turns one after another: each time
// for equally long, between which nothing is sent. A sender keeps to them; its receiver sleeps
// where nothing comes, and asks them only for times. They are for one thread.
type Turns struct {
	at   []int64 // when each begins, ns of clock, ascending
	on   int64   // how long each lasts
	now  func() int64
	next int // the turn that is on, or will be; of [Turns.passed] the one that began last
}

// mostInTurn bounds what is sent at once in a turn: it is to end in time.
const mostInTurn = 1 << 20

// NewTurns makes the turns that begin at these times of now, and last for on each.
func NewTurns(at []int64, on time.Duration, now func() int64) *Turns {
	return &Turns{at: at, on: on.Nanoseconds(), now: now}
}

// look reads the clock, and finds which turn is on.
func (t *Turns) look() (now int64) {
	now = t.now()
	for t.next < len(t.at) && now >= t.at[t.next]+t.on {
		t.next++
	}
	return now
}

// wait returns how long it is until the flow is on; 0: it is. After the last turn there is no
// other.
func (t *Turns) wait() time.Duration {
	now := t.look()
	switch {
	case t.next == len(t.at):
		return longestNap
	case now < t.at[t.next]:
		return time.Duration(t.at[t.next] - now)
	}
	return 0
}

// spent returns for how long the flow has been on so far.
func (t *Turns) spent() time.Duration {
	now := t.look()
	d := int64(t.next) * t.on
	if t.next < len(t.at) {
		d += max(now-t.at[t.next], 0)
	}
	return time.Duration(d)
}

// passed returns what [Turns.spent] does, but that it goes on after a turn's end, until the next
// turn begins: what was sent is on its way then.
func (t *Turns) passed() time.Duration {
	now := t.now()
	for t.next+1 < len(t.at) && now >= t.at[t.next+1] {
		t.next++
	}
	return time.Duration(int64(t.next)*t.on + max(now-t.at[t.next], 0))
}

// InTurns lets the sender send in its turns only. Of a pace only time in turns counts, from the
// first one's beginning on: what was due and not sent when a turn ended, less than a piece unless
// the sender was late, is due at once in the next. It makes a Pace where there is none.
func (p *Pace) InTurns(t *Turns) *Pace {
	if p == nil {
		p = newPace(0, nil, newSleep())
	}
	p.turns, p.clock, p.begun = t, t.spent, true
	return p
}

// InTurns times payload whose sender has turns, by the time in them: for what is sent a turn late
// the turns of others do not count.
func (a *Arrivals) InTurns(t *Turns) *Arrivals {
	a.clock, a.began = t.passed, 0
	return a
}

// off sleeps while it is not the flow's turn, and reports whether it did.
func (p *Pace) off(m *Meter) bool {
	d := p.turns.wait()
	if d == 0 {
		return false
	}
	p.beOnTime()
	p.sleep(min(d, longestNap))
	m.Wait()
	return true
}
