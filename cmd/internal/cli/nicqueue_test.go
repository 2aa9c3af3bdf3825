// SPDX-License-Identifier: MIT

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/zcbench/zcbench/flow/stream"
)

func TestNICQueueFlags(t *testing.T) {
	two, zero := 2, 0
	for _, c := range []struct {
		args []string
		want stream.NICQueue
	}{
		{nil, stream.NICQueue{}},
		{[]string{"--queue", "0"}, stream.NICQueue{Queue: &zero}},
		{[]string{"--queue", "2", "--steer-queue", "0", "--area", "huge", "--area-size", "32M", "--rx-buf-len", "16K", "--refill-entries", "64", "--cq-entries", "128", "--hold", "1M", "--token-batch", "64"},
			stream.NICQueue{Queue: &two, SteerTo: &zero, Area: stream.AreaHuge, AreaBytes: 32 << 20, BufLen: 16 << 10, RefillEntries: 64, CQEntries: 128, HoldBytes: 1 << 20, TokenBatch: 64}},
	} {
		var q NICQueue
		cmd := &cobra.Command{}
		q.AddFlags(cmd)
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, q.Options()); d != "" {
			t.Errorf("%v: %s", c.args, d)
		}
	}
	var q NICQueue
	cmd := &cobra.Command{}
	q.AddFlags(cmd)
	if err := cmd.ParseFlags([]string{"--queue", "last"}); err == nil {
		t.Error("took a queue that is no number")
	}
}
