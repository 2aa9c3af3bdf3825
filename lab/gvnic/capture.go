// SPDX-License-Identifier: MIT

package gvnic

import (
	"bufio"
	"os"
	"time"
)

// capture writes packets to a file that tcpdump and wireshark read (pcap, nanoseconds, Ethernet).
// An aggregated packet is one, as in a capture of the guest's.
type capture struct {
	f *os.File
	w *bufio.Writer
}

func newCapture(path string) (*capture, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	c := &capture{f, bufio.NewWriterSize(f, 1<<20)}
	const nanoseconds, ethernet, longest = 0xa1b23c4d, 1, 1 << 18
	for _, v := range []uint32{nanoseconds, 2 | 4<<16, 0, 0, longest, ethernet} {
		c.w.Write(le.AppendUint32(nil, v))
	}
	return c, nil
}

// add writes a packet; what goes wrong, close tells.
func (c *capture) add(s *segment) {
	if c == nil {
		return
	}
	now := time.Now()
	for _, v := range []uint32{uint32(now.Unix()), uint32(now.Nanosecond()), uint32(s.bytes()), uint32(s.bytes())} {
		c.w.Write(le.AppendUint32(nil, v))
	}
	c.w.Write(s.header)
	c.w.Write(s.payload)
}

func (c *capture) close() error {
	if c == nil {
		return nil
	}
	err := c.w.Flush()
	if cerr := c.f.Close(); err == nil {
		err = cerr
	}
	return err
}
