// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/json"
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOrders(t *testing.T) {
	r, w := io.Pipe()
	say := func(o Order) {
		t.Helper()
		b, err := json.Marshal(o)
		if err == nil {
			_, err = w.Write(append(b, '\n'))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	o := followOrders(r)
	done := make(chan unix.WaitStatus, 1)

	say(Order{Job: &Job{N: 1, Args: []string{"/a", "b"}}})
	if j := <-o.jobs; j.N != 1 || len(j.Args) != 2 {
		t.Fatalf("got %+v", j)
	}
	done <- 7
	if ws, ok := o.await(done, 1); ws != 7 || !ok {
		t.Errorf("job 1: %v, %v", ws, ok)
	}
	// The time of job 1 is up after its end: job 2 has its own.
	say(Order{Timeout: 1})
	say(Order{Job: &Job{N: 2}})
	<-o.jobs
	say(Order{Timeout: 2})
	if _, ok := o.await(done, 2); ok {
		t.Error("job 2 was not told that its time is up")
	}
	say(Order{Wake: &Wake{Entropy: []byte("x")}})
	if wake := <-o.wakes; string(wake.Entropy) != "x" {
		t.Errorf("got %+v", wake)
	}
	w.Close()
	if _, more := <-o.jobs; more {
		t.Error("a job after the end")
	}
}
