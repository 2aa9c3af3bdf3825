package zcrx_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/zcbench/zcbench/nic"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// killEnv makes the test binary a receiver that is to be killed.
const killEnv = "ZCRX_TEST_KILL"

// TestKilledReceiver is no test but the process that TestLabKilled kills.
func TestKilledReceiver(t *testing.T) {
	if os.Getenv(killEnv) == "" {
		t.Skip("it is started by TestLabKilled")
	}
	x := transfer{family: "ipv4", bytes: 8 << 30, touch: stream.TouchNone, begun: func(*zcrx.Receiver) { fmt.Println("flowing") }}
	_, err := inNS(rxNS, x.receive)
	t.Errorf("it was not killed: %v", err)
}

// kill -9 in the middle of a flow: the kernel frees the queue, and the next flow
// has it at once. Header split, RSS table and rule are restored by the next flow's
// lease, before it sets its own.
func TestLabKilled(t *testing.T) {
	needLab(t)
	before := deviceState(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		cmd := exec.Command(self, "-test.run=^TestKilledReceiver$", "-test.v")
		cmd.Env = append(os.Environ(), killEnv+"=1")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		awaitLine(t, out, "flowing")
		time.Sleep(300 * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		start := time.Now()
		awaitFree(t, 3)
		t.Logf("round %d: the queue was free %v after the kill", round, time.Since(start).Round(time.Millisecond))
		o, err := inNS(rxNS, transfer{family: "ipv4", bytes: 16 << 20}.receive)
		if err != nil || o.err != nil || o.counters.ZeroCopyBytes != 16<<20 {
			t.Errorf("the flow after it: %v, %v, %+v", err, o.err, o.counters)
		}
	}
	if after := deviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
}

func awaitLine(t *testing.T, r interface{ Read([]byte) (int, error) }, want string) {
	t.Helper()
	var all []byte
	b := make([]byte, 4096)
	for !containsBytes(all, want) {
		n, err := r.Read(b)
		all = append(all, b[:n]...)
		if err != nil {
			t.Fatalf("the receiver said %q, then: %v", all, err)
		}
	}
}

func containsBytes(b []byte, want string) bool { return contains(fmt.Errorf("%s", b), want) }

// awaitFree waits until a queue has no provider.
func awaitFree(t *testing.T, queue int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		q, err := onDevice(func(d *nic.Device) (nic.Queue, error) { return d.Queue(queue) })
		if err != nil {
			t.Fatal(err)
		}
		if q.Provider == nic.ProviderNone {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v is still bound", q)
		}
	}
}

func onDevice[T any](f func(*nic.Device) (T, error)) (T, error) {
	return inNS(rxNS, func() (v T, err error) {
		d, err := nic.Open(rxDev)
		if err != nil {
			return v, err
		}
		defer d.Close()
		return f(d)
	})
}
