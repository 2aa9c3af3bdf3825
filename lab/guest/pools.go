// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// Generic netlink family netdev, include/uapi/linux/netdev.h.
const cmdPagePoolGet = 5 // NETDEV_CMD_PAGE_POOL_GET

// poolsLeft counts the page pools that still exist, for at most limit: a pool
// lives until the last page is back, and the kernel looks for it once a second.
// The guest has no other network device with pools.
func poolsLeft(limit time.Duration) (int, error) {
	c, err := genetlink.Dial(nil)
	if err != nil {
		return 0, fmt.Errorf("generic netlink: %w", err)
	}
	defer c.Close()
	fam, err := c.GetFamily("netdev")
	if err != nil {
		return 0, fmt.Errorf("generic netlink family netdev: %w", err)
	}
	deadline := time.Now().Add(limit)
	for {
		m := genetlink.Message{Header: genetlink.Header{Command: cmdPagePoolGet, Version: fam.Version}}
		msgs, err := c.Execute(m, fam.ID, netlink.Request|netlink.Dump)
		if err != nil {
			return 0, fmt.Errorf("netdev page-pool-get: %w", err)
		}
		if len(msgs) == 0 || time.Now().After(deadline) {
			return len(msgs), nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}
