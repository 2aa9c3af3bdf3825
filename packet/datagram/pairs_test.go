// SPDX-License-Identifier: MIT

package datagram

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/ledger"
)

var (
	rxModes = []stream.Mode{RX, GRO, Uring}
	txModes = []stream.Mode{TX, GSO, UringSend}
)

// play moves the datagrams of one flow for a while, and until some were sent, paced so that none is
// lost.
func play(t *testing.T, addr string, rx, tx stream.Mode, rxo, txo stream.Options, size int, pps uint64,
	length time.Duration) (got, sent stream.Counters, told, dropped uint64) {
	t.Helper()
	rxo.MessageBytes, txo.MessageBytes, rxo.Touch = size, size, stream.TouchVerify
	o := open(t, addr, 1, size, sock.Options{RcvBuf: 16 << 20})
	p, err := stream.NewPayload(size)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	before, err := ledger.Read()
	if err != nil {
		t.Fatal(err)
	}
	var mr, ms stream.Meter
	received := onThread(func() error {
		r, err := rx.NewReceiver(rxo)
		if err != nil {
			return err
		}
		defer r.Close()
		if err := r.Attach(o.rx[0], o.hello[0]); err != nil {
			return err
		}
		err = r.Receive(o.rx[0], &mr)
		return errors.Join(err, r.Close())
	})
	await.Later(length, func() {
		await.So(func() bool { return ms.Snapshot().Packets >= 100 || size > 20_000 && ms.Snapshot().Packets >= 10 })
		o.tx[0].Stop()
	})
	sending := onThread(func() error {
		s, err := tx.NewSender(txo)
		if err != nil {
			return err
		}
		defer s.Close()
		c := o.tx[0]
		c.Pace = stream.NewPace(pps * uint64(size) * 8)
		c.Pace.InSmallPieces(size)
		if err := s.Send(c, p, &ms); err != nil {
			return err
		}
		return errors.Join(c.EndOfSend(), s.Close())
	})
	if err := ended(t, sending); err != nil {
		t.Fatal(err)
	}
	if err := ended(t, received); err != nil {
		t.Fatal(err)
	}
	after, err := ledger.Read()
	if err != nil {
		t.Fatal(err)
	}
	// What its own socket dropped is exact, and none of others'; of GRO and GSO one is several.
	inSocket, inLink := uint64(1), uint64(1)
	if strings.HasPrefix(rx.Name, GRO.Name) {
		inSocket, inLink = mostInOne(size), mostInOne(size)
	}
	if tx.Has(stream.Segments) {
		inLink = mostInOne(size)
	}
	dropped = socketDrops(t, o.rx[0].Local.Port()) * inSocket
	for _, c := range ledger.Between(before, after) {
		if ledger.OfPackets(c.Name) && (!strings.HasPrefix(c.Name, "udp_") || c.Name == "udp_sndbuf_errors") {
			dropped += c.Count * inLink
		}
	}
	return mr.Snapshot(), ms.Snapshot(), o.rx[0].Sent, dropped
}

// socketDrops is how many packets the sockets of UDP dropped that have a port.
func socketDrops(t testing.TB, port uint16) (n uint64) {
	t.Helper()
	found := false
	for _, name := range []string{"/proc/net/udp", "/proc/net/udp6"} {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			if f := strings.Fields(line); len(f) > 2 && strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) {
				drops, err := strconv.ParseUint(f[len(f)-1], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				n, found = n+drops, true
			}
		}
	}
	if !found {
		t.Errorf("no socket of UDP has port %d", port)
	}
	return n
}

// Each mode to receive takes what each mode to send sends, by every engine, one by one and in
// batches: every datagram once, in order, right to its last byte, but for what the kernel says that
// it dropped.
func TestEveryPairOfModes(t *testing.T) {
	rx, rxo := withEngines(rxModes...)
	tx, txo := withEngines(txModes...)
	if len(rx) < 3 || len(tx) < 3 {
		t.Skipf("this kernel has %d modes to receive and %d to send", len(rx), len(tx))
	}
	sizes := []int{minBytes, 64, 1400}
	for i, r := range rx {
		for k, s := range tx {
			addr := []string{"127.0.0.1:0", "[::1]:0"}[(i+k)%2]
			size := sizes[(i+2*k)%len(sizes)]
			t.Run(fmt.Sprintf("%s from %s of %d", r.Name, s.Name, size), func(t *testing.T) {
				got, sent, told, dropped := play(t, addr, r, s, rxo[i], txo[k], size, 100_000, 50*time.Millisecond)
				if sent.Packets < 100 || got.Packets > sent.Packets || got.Packets+dropped < sent.Packets ||
					told != sent.Packets || got.Bytes != got.Packets*uint64(size) ||
					sent.Bytes != sent.Packets*uint64(size) {
					t.Errorf("received %+v, sent %+v, told of %d", got, sent, told)
				}
				if got.OutOfOrder+got.Duplicated+got.Corrupted+got.Mismatches != 0 {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

// Datagrams as long as there can be come in fragments, and whole.
func TestLongestDatagrams(t *testing.T) {
	for _, r := range rxModes {
		if r.Support("") != nil {
			continue
		}
		got, sent, _, dropped := play(t, "127.0.0.1:0", r, TX, stream.Options{}, stream.Options{}, maxBytes, 2000,
			50*time.Millisecond)
		if sent.Packets < 10 || got.Packets > sent.Packets || got.Packets+dropped < sent.Packets || got.Corrupted != 0 {
			t.Errorf("%s: received %+v, sent %+v", r.Name, got, sent)
		}
	}
}
