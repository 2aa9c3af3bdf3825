package msgzc

import (
	"testing"
	"time"

	"github.com/zcbench/zcbench/sock"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/stream/streamtest"
)

// With a peer that does not read, calls pile up without notification; once it
// reads, all of them come.
func TestDrainWaitsForAll(t *testing.T) {
	p, m := streamtest.Payload(t, 1<<20), new(stream.Meter)
	s, _ := New(stream.Options{})
	rx, tx, _ := streamtest.Flow(t, p, sock.Options{ZeroCopy: true})
	done := make(chan error, 1)
	go func() { done <- s.Send(tx, p, m) }()
	time.Sleep(100 * time.Millisecond)
	tx.Stop()
	select {
	case err := <-done:
		t.Fatalf("returned while the kernel has the memory: %v, %+v", err, m.Snapshot())
	case <-time.After(300 * time.Millisecond):
	}
	drained := streamtest.Sink(rx)
	if err := <-done; err != nil || s.flow.pending != 0 {
		t.Errorf("%v; %d pending", err, s.flow.pending)
	}
	if c := m.Snapshot(); c.ZeroCopyBytes+c.CopiedBytes != c.Bytes || c.Completions == 0 {
		t.Errorf("%+v", c)
	}
	tx.EndOfSend()
	<-drained
}

func TestProbe(t *testing.T) {
	if err := Probe(); err != nil {
		t.Skip(err) // a kernel before 4.14
	}
}
