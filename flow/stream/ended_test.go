// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"net"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"golang.org/x/sys/unix"
)

// besides are both ends of a flow of packets without any: the connection that words go by.
func besides(t *testing.T) (rx, tx *Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	end := func(c net.Conn, err error) *Conn {
		if err != nil {
			t.Fatal(err)
		}
		words, err := Detach(c.(*net.TCPConn))
		if err != nil {
			t.Fatal(err)
		}
		out := &Conn{FD: -1, Words: words}
		t.Cleanup(func() { out.Close() })
		return out
	}
	tx = end(net.Dial("tcp", ln.Addr().String()))
	return end(ln.Accept()), tx
}

func look(t *testing.T, w *EndWatch, c *Conn) (bool, error) {
	t.Helper()
	var ended bool
	var err error
	await.Until(t, "the end of the flow, or what is wrong with it", func() bool {
		ended, err = w.Look(c)
		return ended || err != nil
	})
	return ended, err
}

// The receiver hears how many packets there were, also when the words come in pieces.
func TestEndOfPackets(t *testing.T) {
	rx, tx := besides(t)
	var w EndWatch
	if ended, err := w.Look(rx); ended || err != nil {
		t.Fatalf("before: %v, %v", ended, err)
	}
	tx.Sent = 12345678901
	if err := tx.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	if ended, err := look(t, &w, rx); !ended || err != nil || rx.Sent != tx.Sent {
		t.Errorf("%v, %v, %d packets", ended, err, rx.Sent)
	}
	if err := rx.SendFarewell(Farewell{Bytes: 7}); err != nil {
		t.Fatal(err)
	}
	if f, err := tx.ReadFarewell(await.Deadline()); err != nil || f.Bytes != 7 {
		t.Errorf("%+v, %v", f, err)
	}

	rx, tx = besides(t)
	b, _ := Ended{Packets: 5}.AppendBinary(nil)
	w = EndWatch{}
	for i := range b {
		if ended, err := w.Look(rx); ended || err != nil {
			t.Fatalf("after %d bytes: %v, %v", i, ended, err)
		}
		unix.Write(tx.Words.FD, b[i:i+1])
	}
	if ended, err := look(t, &w, rx); !ended || err != nil || rx.Sent != 5 {
		t.Errorf("%v, %v, %d packets", ended, err, rx.Sent)
	}
}

// A sender that goes without a word, or with another, has not ended the flow; nor has one whose
// run was called off.
func TestPacketsBrokenOff(t *testing.T) {
	rx, tx := besides(t)
	tx.Close()
	if ended, err := look(t, new(EndWatch), rx); ended || !BlamesPeer(err) {
		t.Errorf("closed: %v, %v", ended, err)
	}
	if err := rx.Left(); err == nil {
		t.Error("a sender that left is said to wait")
	}
	rx, tx = besides(t)
	unix.Write(tx.Words.FD, make([]byte, endedSize))
	if ended, err := look(t, new(EndWatch), rx); ended || !BlamesPeer(err) {
		t.Errorf("nonsense: %v, %v", ended, err)
	}
	rx, _ = besides(t)
	rx.Abort()
	if ended, err := look(t, new(EndWatch), rx); ended || !errors.Is(err, ErrAborted) ||
		!errors.Is(rx.Words.Aborted(), ErrAborted) {
		t.Errorf("called off: %v, %v", ended, err)
	}
}
