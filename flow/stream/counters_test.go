// SPDX-License-Identifier: MIT

package stream

import (
	"reflect"
	"testing"
)

// Every counter is read and subtracted, and none twice.
func TestCounters(t *testing.T) {
	var m Meter
	v := reflect.ValueOf(&m.c).Elem()
	for i := range v.NumField() {
		v.Field(i).SetUint(uint64(100 + i))
	}
	got, all := m.Snapshot(), m.c
	all.Calls += all.Waits // those that can sleep are calls, too
	if got != all {
		t.Errorf("snapshot %+v of %+v", got, all)
	}
	var before Counters
	for i, n := range before.all() {
		*n = uint64(i + 1)
	}
	d := reflect.ValueOf(got.Sub(before))
	for i := range d.NumField() {
		name, want := d.Type().Field(i).Name, uint64(99)
		switch name {
		case "FirstMismatch":
			want = got.FirstMismatch
		case "Calls":
			want += m.c.Waits
		}
		if d.Field(i).Uint() != want {
			t.Errorf("%s: %d, want %d", name, d.Field(i).Uint(), want)
		}
	}
}

// Others see each count while the path goes on, each counter only grow, and in the end all of it.
func TestMeterIsSeenByOthers(t *testing.T) {
	var m Meter
	const n = 1 << 20
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range n {
			m.Bytes(3)
			m.Wait()
			m.Call()
		}
	}()
	seen := Counters{}
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		c := m.Snapshot()
		if c.Bytes < seen.Bytes || c.Calls < seen.Calls || c.Waits < seen.Waits || c.Bytes%3 != 0 || c.Waits > c.Calls {
			t.Fatalf("%+v after %+v", c, seen)
		}
		seen = c
	}
	if seen.Bytes != 3*n || seen.Calls != 2*n || seen.Waits != n {
		t.Errorf("%+v", seen)
	}
}

func TestMeterAllocatesNothing(t *testing.T) {
	var m Meter
	var c Counters
	if n := testing.AllocsPerRun(100, func() { m.Wait(); m.Bytes(1); c = m.Snapshot().Sub(c) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMeter(b *testing.B) {
	var m Meter
	for b.Loop() {
		m.Bytes(1 << 20)
		m.Wait()
	}
}

// What something else counts is read before each snapshot, and no longer than it is asked for.
func TestMeterReadBy(t *testing.T) {
	var m Meter
	m.ReadBy(func() { m.Packets(7) })
	if a, b := m.Snapshot().Packets, m.Snapshot().Packets; a != 7 || b != 14 {
		t.Errorf("%d and %d packets, want 7 and 14", a, b)
	}
	m.ReadBy(nil)
	if n := m.Snapshot().Packets; n != 14 {
		t.Errorf("%d packets, want 14", n)
	}
}

// A meter that mirrors another process's has what that one shows, and keeps it.
func TestMeterIsShown(t *testing.T) {
	var there, here Meter
	w := make([]uint64, MeterWords)
	if n := len(there.c.all()); n >= MeterWords { // the last is for when the flow ended
		t.Fatalf("%d counters do not fit", n)
	}
	here.Mirror(w)
	there.Bytes(100)
	there.Wait()
	there.Mismatch(7, 3)
	if c := here.Snapshot(); c != (Counters{}) {
		t.Errorf("before it was shown: %+v", c)
	}
	there.Show(w)
	want := there.Snapshot()
	if c := here.Snapshot(); c != want || c.Bytes != 100 || c.Calls != 1 || c.FirstMismatch != 8 {
		t.Errorf("%+v, want %+v", c, want)
	}
	here.Settle()
	clear(w)
	if c := here.Snapshot(); c != want {
		t.Errorf("settled: %+v, want %+v", c, want)
	}
}
