// SPDX-License-Identifier: MIT

package stream

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/internal/fault"
)

// Ends that encrypt differently are refused before payload, unless neither can tell: of a flow one
// way the kernel at one end and the application at the other make the same records. With answers
// the farewell is in one, or in none.
func TestWhoEncryptsIsAgreedOn(t *testing.T) {
	const none, user, kernel, device = records.None, records.User, records.Kernel, records.Device
	for _, x := range []struct {
		sender, receiver records.How
		version          records.Version
		oneWay, trips    string // what is said against it
	}{
		{none, none, 0, "", ""}, {user, user, records.TLS13, "", ""}, {kernel, kernel, records.TLS13, "", ""},
		{none, user, 0, "one end encrypts", "one end encrypts"},
		{kernel, none, records.TLS13, "one end encrypts", "one end encrypts"},
		{device, user, records.TLS12, "the sender has TLS 1.2", "the sender has TLS 1.2"},
		{kernel, user, records.TLS13, "", "the kernel of one end"},
		{user, kernel, records.TLS13, "", "the kernel of one end"},
	} {
		for answers, say := range map[uint32]string{0: x.oneWay, 20: x.trips} {
			h := someHello
			h.ResponseBytes, h.MessageBytes = answers, 20
			h.Encrypted(x.sender, x.version)
			h, err := ParseHello(encode(t, h))
			if err != nil {
				t.Fatal(err)
			}
			err = agree(x.receiver, h)
			if (err != nil) != (say != "") || err != nil && !strings.Contains(err.Error(), say) ||
				err != nil && !strings.Contains(fault.Fix(err), "--tls") {
				t.Errorf("%q sends to %q, answers of %d: %v", x.sender, x.receiver, answers, err)
			}
		}
	}
}

// Who has the keys of answers is told beside who has those of payload, and only where there are
// answers.
func TestFiguresOfBothKeys(t *testing.T) {
	e := &Encryption{Version: records.TLS13, Kept: records.Kept{NoPad: true}}
	names := func() (all []string) {
		for _, f := range e.Figures() {
			if f.Value != 0 {
				all = append(all, f.Name)
			}
		}
		return all
	}
	if got := names(); !slices.Equal(got, []string{"tls_version", "tls_no_pad"}) {
		t.Errorf("without answers: %q", got)
	}
	e.KeptAnswers = &records.Kept{Device: true}
	if got := names(); !slices.Equal(got, []string{"tls_version", "tls_no_pad", "tls_answers_device"}) {
		t.Errorf("with answers: %q", got)
	}
}
