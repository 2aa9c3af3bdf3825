// SPDX-License-Identifier: MIT

package modes

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
)

// One entry of All adds a mode: it is found, is named where another is not known, and keeps the
// contract of all. Tests of the same name in bench and in cmd/internal/explain have it run between
// two hosts, and explained.
func TestOneLineAddsAMode(t *testing.T) {
	fake := baseline.TCP
	fake.Name, fake.Summary = "borrowed", "recv, by another name"
	if _, err := Find(fake.Role, fake.Name); err == nil {
		t.Fatal("there is one of this name")
	}
	before := All
	defer func() { All = before }()
	All = append(before[:len(before):len(before)], fake)

	if m, err := Find(stream.RX, fake.Name); err != nil || m.Summary != fake.Summary {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Find(stream.RX, "other"); err == nil || !strings.Contains(err.Error(), ", borrowed") {
		t.Errorf("choices: %v", err)
	}
	All = All[len(before):] // alone, for the tests of all
	t.Run("whole", TestEveryModeIsWhole)
	t.Run("name", TestEveryModeNameFits)
	t.Run("allocations", TestReceiveDoesNotAllocate)
	t.Run("abort", TestPathsEndOnAbort)

	payload, m := streamtest.Payload(t, messageBytes), new(stream.Meter)
	rx, tx, h := streamtest.Flow(t, payload, sock.Options{})
	done := receive(All[0], stream.Options{MessageBytes: messageBytes}, rx, h, m)
	pumped := onThread(func() error { pump(tx, payload); return nil })
	until(t, func() bool { return m.Snapshot().Bytes > 1<<20 })
	tx.Stop()
	<-pumped
	tx.EndOfSend()
	if err := ended(t, done); err != nil {
		t.Error(err)
	}
}
