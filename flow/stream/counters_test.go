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
	got := m.Snapshot()
	if got != m.c {
		t.Errorf("snapshot %+v of %+v", got, m.c)
	}
	var before Counters
	for i, n := range before.all() {
		*n = uint64(i + 1)
	}
	d := reflect.ValueOf(got.Sub(before))
	for i := range d.NumField() {
		name, want := d.Type().Field(i).Name, uint64(99)
		if name == "FirstMismatch" {
			want = got.FirstMismatch
		}
		if d.Field(i).Uint() != want {
			t.Errorf("%s: %d, want %d", name, d.Field(i).Uint(), want)
		}
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
