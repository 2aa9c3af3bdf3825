// SPDX-License-Identifier: MIT

package guest

import (
	"bufio"
	"encoding/json"
	"io"

	"golang.org/x/sys/unix"
)

// orders are what the host has said.
type orders struct {
	jobs  chan *Job // closed when no more can come
	wakes chan *Wake
	spent chan int // the number of a job whose time is up
}

// followOrders reads the control port.
func followOrders(control io.Reader) *orders {
	o := &orders{make(chan *Job), make(chan *Wake), make(chan int, 1)}
	go func() {
		defer close(o.jobs)
		r := bufio.NewReader(control)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var order Order
			if json.Unmarshal(line, &order) != nil {
				return
			}
			if order.Wake != nil {
				o.wakes <- order.Wake
			}
			if order.Job != nil {
				o.jobs <- order.Job
			}
			if order.Timeout > 0 {
				o.spent <- order.Timeout
			}
		}
	}()
	return o
}

// await returns what done brings, or false when the time of job n is up. The time of
// an earlier job may have run out as it ended.
func (o *orders) await(done <-chan unix.WaitStatus, n int) (unix.WaitStatus, bool) {
	for {
		select {
		case ws := <-done:
			return ws, true
		case spent := <-o.spent:
			if spent == n {
				return 0, false
			}
		}
	}
}
