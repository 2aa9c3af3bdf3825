// SPDX-License-Identifier: MIT

package baseline

import (
	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
)

// sends hands bytes to the kernel, and returns how many it took.
type sends func(p []byte) (int, error)

// recordsPerCall is how many records are made before they are sent by one call: so much stays in a
// core's cache.
const recordsPerCall = 16

// sealing makes what sends payload, and counts it. Where the application encrypts, what is handed
// to the kernel is records: those of a piece are sent whole, because the receiver can open no part
// of one.
func sealing(c *stream.Conn, m *stream.Meter, send sends) sends {
	if c.TLS == nil || c.TLS.Sealer == nil {
		return func(p []byte) (int, error) {
			n, err := send(p)
			m.Bytes(n)
			return n, err
		}
	}
	buf := make([]byte, 0, records.Sealed(recordsPerCall*records.MaxPlain))
	return func(p []byte) (int, error) {
		p = p[:min(len(p), recordsPerCall*records.MaxPlain)]
		for out := c.TLS.Sealer.SealAll(buf, p); len(out) > 0; {
			n, err := send(out)
			if err == nil {
				err = c.Aborted()
			}
			if err != nil {
				return 0, err
			}
			out = out[n:]
		}
		m.Bytes(len(p))
		return len(p), nil
	}
}
