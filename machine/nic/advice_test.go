// SPDX-License-Identifier: MIT

package nic

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
)

// Nobody is sent to make queues of an interface whose driver can have no more.
func TestNoMoreQueues(t *testing.T) {
	d, err := Open("lo") // it has one, and no channels that can be set
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = d.Queue(99)
	if fix := fault.Fix(err); !strings.Contains(fix, "choose one of them") || strings.Contains(fix, "ethtool -L") {
		t.Errorf("%v; fix: %s", err, fix)
	}
}
