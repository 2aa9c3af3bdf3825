// SPDX-License-Identifier: MIT

package stream

import (
	"strings"
	"testing"
)

// Every mode of a kind is opened by the kind's transport; a kind without one is refused.
func TestTransportOfAKind(t *testing.T) {
	if tr, err := (Mode{Name: "tcp", Role: RX}).Transport(); err != nil || tr != Transport(tcp{}) {
		t.Errorf("%v, %v", tr, err)
	}
	if _, err := (Mode{Name: "udp", Role: TX, Kind: Datagram}).Transport(); err == nil ||
		!strings.Contains(err.Error(), "tx udp carries datagrams") {
		t.Error(err)
	}
}
