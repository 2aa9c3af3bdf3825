// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"sync"
)

// notices are what hosts told the user.
type notices struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notices) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notices) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}
