// SPDX-License-Identifier: MIT

package labtest

import (
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// Both runs zcbench with a receive mode that takes a queue over, at both ends at once: every byte
// arrives without a copy, both ways, and sends each of them without one where tx is such a mode.
// Flows that go to other queues are found out at both ends, and both devices are as they were.
func Both(t *testing.T, rx, tx string) {
	Need(t)
	before := deviceState(t, TXNS, TXDev)
	args := []string{"--both", "on", "--tx", tx}
	r := measured(t, rx, args...)
	back, sent := r.TG.Back, r.SUT.Back
	switch h := r.SUT; {
	case back == nil || sent == nil:
		t.Fatalf("the SUT sent %+v, the TG received %+v", sent, back)
	case h.Mismatches == nil || *h.Mismatches != 0 || back.Mismatches == nil || *back.Mismatches != 0:
		t.Errorf("mismatches: %s, the other way %s", count(h.Mismatches), count(back.Mismatches))
	case back.Bytes == 0 || !whole(h.ZeroCopyBytes, h.CopiedBytes, *h.Bytes) ||
		!whole(back.ZeroCopyBytes, back.CopiedBytes, back.Bytes):
		t.Errorf("%s of %s bytes without a copy, the other way %s of %d", count(h.ZeroCopyBytes), count(h.Bytes),
			count(back.ZeroCopyBytes), back.Bytes)
	case tx == "devmem" && (!uncopied(r.TG.ZeroCopyBytes, r.TG.CopiedBytes) ||
		!uncopied(sent.ZeroCopyBytes, sent.CopiedBytes)):
		t.Errorf("sent %s of %s bytes without a copy, the other way %s of %d", count(r.TG.ZeroCopyBytes),
			count(r.TG.Bytes), count(sent.ZeroCopyBytes), sent.Bytes)
	default:
		t.Logf("%s from %s: %d bytes, the other way %d", rx, tx, *h.Bytes, back.Bytes)
	}
	r = invalid(t, rx, ": the flow landed on queue 0, but the provider is on queue ",
		append(args, "--control", plan.WrongQueue)...)
	if b := r.TG.Back; b == nil || b.Bytes == 0 || b.ZeroCopyBytes == nil || *b.ZeroCopyBytes != 0 ||
		b.CopiedBytes == nil || *b.CopiedBytes == 0 {
		t.Errorf("to another queue the other way is %+v", b)
	}
	if after := deviceState(t, TXNS, TXDev); after != before {
		t.Errorf("the TG's device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
}

// BothTrips runs zcbench with requests both ways at once: at both ends they come without a copy,
// and are answered; by other queues that is found out. By tx rr- and a mode they are sent without
// one, too, and so are the answers.
func BothTrips(t *testing.T, rx, tx string) {
	Need(t)
	args := []string{"--both", "on", "--request", "8192", "--in-flight", "2"}
	r := trips(t, rx, tx, args...)
	h, back, asked := r.SUT, r.TG.Back, r.SUT.Back
	if back == nil || asked == nil || back.Transactions == nil || asked.Transactions == nil ||
		*asked.Transactions == 0 {
		t.Fatalf("the SUT asked %+v, the TG answered %+v", asked, back)
	}
	if !whole(h.ZeroCopyBytes, h.CopiedBytes, *h.Bytes) || !whole(back.ZeroCopyBytes, back.CopiedBytes, back.Bytes) ||
		back.Mismatches == nil || *back.Mismatches != 0 {
		t.Errorf("%s of %s bytes of requests without a copy, the other way %s of %d; mismatches %s there",
			count(h.ZeroCopyBytes), count(h.Bytes), count(back.ZeroCopyBytes), back.Bytes, count(back.Mismatches))
	}
	if tx != "rr" && (!uncopied(r.TG.ZeroCopyBytes, r.TG.CopiedBytes) ||
		!uncopied(asked.ZeroCopyBytes, asked.CopiedBytes) || metric(h, "answers_zero_copy_bytes") <= 0 ||
		metric(h, "answers_copied_bytes") != 0) {
		t.Errorf("sent %s bytes of requests without a copy, the other way %s, and %v of answers",
			count(r.TG.ZeroCopyBytes), count(asked.ZeroCopyBytes), metric(h, "answers_zero_copy_bytes"))
	}
	r = invalid(t, rx, ": the flow landed on queue 0, but the provider is on queue ",
		append([]string{"--tx", tx, "--control", plan.WrongQueue}, args...)...)
	if b := r.TG.Back; b == nil || b.ZeroCopyBytes == nil || *b.ZeroCopyBytes != 0 || b.CopiedBytes == nil ||
		*b.CopiedBytes == 0 {
		t.Errorf("to another queue the other way is %+v", b)
	}
}

// whole reports whether all bytes were moved without a copy.
func whole(zeroCopy, copied *uint64, all uint64) bool {
	return uncopied(zeroCopy, copied) && *zeroCopy == all
}

// uncopied reports whether bytes were moved, and none copied: what was sent counts so when the
// kernel has let go of it, which may be after the window.
func uncopied(zeroCopy, copied *uint64) bool {
	return zeroCopy != nil && *zeroCopy > 0 && copied != nil && *copied == 0
}
