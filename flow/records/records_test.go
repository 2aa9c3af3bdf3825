// SPDX-License-Identifier: MIT

package records

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

const _ = kind.Pure

var secret = []byte("0123456789abcdef")

func key(t testing.TB, secret []byte, flow int, back bool) *Key {
	t.Helper()
	k, err := Derive(secret, Payload, flow, back)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func opener(t testing.TB, k *Key, size int) *Opener {
	t.Helper()
	o, err := NewOpener(k, make([]byte, size+Slack), size)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func sealer(t testing.TB, k *Key) *Sealer {
	t.Helper()
	s, err := NewSealer(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openAll gives an opener bytes in pieces, and returns the payload.
func openAll(o *Opener, pieces [][]byte) (got []byte, err error) {
	for _, p := range pieces {
		for len(p) > 0 {
			var plain []byte
			if plain, p, err = o.Next(p); err != nil {
				return got, err
			}
			got = append(got, plain...)
		}
	}
	return got, nil
}

// cut cuts bytes into pieces of at most so many.
func cut(b []byte, most int, r *rand.Rand) (pieces [][]byte) {
	for len(b) > 0 {
		n := min(1+r.IntN(most), len(b))
		pieces, b = append(pieces, bytes.Clone(b[:n])), b[n:]
	}
	return pieces
}

// What was sealed is opened, in pieces of any size, also into the end of the message's memory; what
// crosses pieces is gathered and counted, and nothing else is.
func TestSealedIsOpened(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1, 3, 64, 1448, 4096, 40000} {
		k := key(t, secret, 0, false)
		s, o := sealer(t, k), opener(t, k, 50000)
		var want, wire []byte
		for range 30 {
			plain := make([]byte, 1+r.IntN(MaxPlain))
			for i := range plain {
				plain[i] = byte(r.Uint32())
			}
			want, wire = append(want, plain...), s.Seal(wire, plain)
		}
		if len(wire) != len(want)+30*Overhead {
			t.Fatalf("%d bytes are %d on the wire", len(want), len(wire))
		}
		got, err := openAll(o, cut(wire, most, r))
		if err != nil || !bytes.Equal(got, want) || o.Records() != 30 {
			t.Errorf("pieces of %d: %d of %d bytes, %d records: %v", most, len(got), len(want), o.Records(), err)
		}
		if most < 4096 && o.Gathered() < uint64(len(wire))*9/10 || o.Gathered() > uint64(len(wire)) {
			t.Errorf("pieces of %d: %d of %d bytes gathered", most, o.Gathered(), len(wire))
		}
	}
	k := key(t, secret, 0, false)
	whole := sealer(t, k).Seal(nil, make([]byte, MaxPlain))
	if o := opener(t, k, MaxPlain); true {
		if _, err := openAll(o, [][]byte{whole}); err != nil || o.Gathered() != 0 {
			t.Errorf("a whole record: %d bytes gathered, %v", o.Gathered(), err)
		}
	}
}

// Another secret, flow or direction is another key, and the first record says so. A bit that is
// changed anywhere shows, too, by the record's number.
func TestWrongKeyAndFlippedBit(t *testing.T) {
	mine := key(t, secret, 3, false)
	wire := sealer(t, mine).Seal(nil, []byte("payload"))
	for name, k := range map[string]*Key{"secret": key(t, []byte("0123456789abcdeg"), 3, false),
		"flow": key(t, secret, 4, false), "direction": key(t, secret, 3, true), "none": new(Key)} {
		_, err := openAll(opener(t, k, 100), [][]byte{wire})
		if !errors.Is(err, unix.EBADMSG) || !strings.Contains(err.Error(), "TLS record 0") {
			t.Errorf("another %s: %v", name, err)
		}
	}
	for bit := range 8 * len(wire) {
		if i := bit / 8; i == 3 || i == 4 {
			continue // a length: more is waited for
		}
		s := sealer(t, mine)
		all := s.Seal(s.Seal(nil, []byte("before")), []byte("payload"))
		all[len(all)-len(wire)+bit/8] ^= 1 << (bit % 8)
		got, err := openAll(opener(t, mine, 100), [][]byte{all})
		if string(got) != "before" || !errors.Is(err, unix.EBADMSG) || !strings.Contains(err.Error(), "TLS record 1") {
			t.Fatalf("bit %d: %q, %v", bit, got, err)
		}
	}
}

// A record that has no payload, padding, and what is no record.
func TestOddRecords(t *testing.T) {
	k := key(t, secret, 0, false)
	seal := func(inner ...byte) []byte { // with its type, and padding
		s := sealer(t, k)
		n := len(inner) + tag
		b := []byte{data, 3, 3, byte(n >> 8), byte(n)}
		return s.aead.Seal(b, s.number(), inner, b)
	}
	for name, x := range map[string]struct {
		wire []byte
		want string
		err  error
	}{
		"padded": {seal('a', 'b', data, 0, 0, 0), "ab", nil},
		"alert":  {seal(2, 40, alert), "", unix.EIO},
		"closed": {seal(1, 0, alert), "", ErrClosed},
		"empty":  {seal(0, 0), "", unix.EIO},
		"plain":  {[]byte("some payload without TLS"), "", unix.EBADMSG},
		"short":  {[]byte{data, 3, 3, 0, 16, 1}, "", unix.EBADMSG},
		"long":   {[]byte{data, 3, 3, 0xff, 0xff, 1}, "", unix.EBADMSG},
	} {
		for _, most := range []int{100, 1} {
			got, err := openAll(opener(t, k, 100), cut(x.wire, most, rand.New(rand.NewPCG(1, 2))))
			if string(got) != x.want || !errors.Is(err, x.err) || (err == nil) != (x.err == nil) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
}

// Neither end allocates for a record.
func TestRecordsDoNotAllocate(t *testing.T) {
	k := key(t, secret, 0, false)
	s, o := sealer(t, k), opener(t, k, 1<<20)
	plain, buf := make([]byte, MaxPlain), make([]byte, 0, MaxPlain+Overhead)
	n := testing.AllocsPerRun(100, func() {
		wire := s.Seal(buf, plain)
		for _, p := range [][]byte{wire[:1000], wire[1000:]} {
			if _, _, err := o.Next(p); err != nil {
				t.Error(err)
			}
		}
		wire = s.Seal(buf, plain)
		if got, _, err := o.Next(wire); err != nil || len(got) != MaxPlain {
			t.Error(len(got), err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Payload of any size is as many records as it has to be, and they are as long as was said.
func TestSealsAll(t *testing.T) {
	k := key(t, secret, 0, false)
	for _, n := range []int{0, 1, MaxPlain, MaxPlain + 1, 5 * MaxPlain} {
		plain := bytes.Repeat([]byte{7}, n)
		wire := sealer(t, k).SealAll(nil, plain)
		o := opener(t, k, MaxPlain)
		got, err := openAll(o, [][]byte{wire})
		if err != nil || !bytes.Equal(got, plain) || len(wire) != Sealed(n) {
			t.Errorf("%d bytes: %d came, in %d records of %d bytes: %v", n, len(got), o.Records(), len(wire), err)
		}
	}
}

func TestVersions(t *testing.T) {
	if got := TLS12.String() + " " + TLS13.String(); got != "TLS 1.2 TLS 1.3" {
		t.Error(got)
	}
	k := key(t, secret, 0, false)
	info := k.info(TLS12)
	if k.Wipe(); *k != (Key{}) || bytes.Equal(info[12:28], make([]byte, 16)) ||
		!bytes.Equal(info[32:], make([]byte, 8)) {
		t.Errorf("%x; wiped: %x", info, *k)
	}
}

func TestParseStat(t *testing.T) {
	got, err := ParseStat("TlsCurrTxSw              \t1\nTlsTxDevice              \t42\n")
	if err != nil || got["TlsTxDevice"] != 42 || got["TlsCurrTxSw"] != 1 || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"TlsTxDevice", "TlsTxDevice x", "Other 1", strings.Repeat("TlsX 1\n", 1) + "Tls 1 2"} {
		if _, err := ParseStat(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
