// SPDX-License-Identifier: MIT

package endpoint

import (
	"sync"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
)

// waitingFlows are the flows that have come to a receiver, whether their threads have prepared for
// them yet or not. Their senders wait for the last flow to come and to be steered; one that dies
// meanwhile would be noticed when it is welcome, after as long as that takes.
type waitingFlows struct {
	end  *End
	mu   sync.Mutex
	came []waitingFlow
}

type waitingFlow struct {
	n    int // number of the flow
	conn *stream.Conn
}

// lookEvery is between two looks at flows that wait.
const lookEvery = 20 * time.Millisecond

func (g *waitingFlows) add(n int, c *stream.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.came = append(g.came, waitingFlow{n, c})
}

// left returns the error of a flow whose sender has gone; nil: all wait.
func (g *waitingFlows) left() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range g.came {
		if err := x.conn.Left(); err != nil {
			return g.end.named(g.end.flows[x.n], err)
		}
	}
	return nil
}
