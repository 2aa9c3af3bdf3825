// SPDX-License-Identifier: MIT

package plan

import (
	"errors"

	"github.com/zcbench/zcbench/flow/records"
	"github.com/zcbench/zcbench/flow/stream"
)

// encryptionFits refuses modes that move payload by calls for which the kernel does not encrypt or
// decrypt it, and such where the application cannot, because it never has the payload, or hands
// memory over that it may not overwrite. What is said of the kernel is from its code, and was not
// tried (docs/tls.md).
func encryptionFits(m stream.Mode, c *Cell) error {
	var why string
	switch how := records.How(c.TLS); {
	case how == records.None:
	case m.Has(stream.Connects):
		why = "tx " + m.Name + " makes a connection for each request, which a server encrypts after a handshake, " +
			"most of its work, and here there is none: use tx rr"
	case how == records.Device && m.Has(stream.RoundTrips):
		why = "records go both ways with tx " + m.Name + ", and the NIC is asked for one way of each end: use tls: " +
			"ktls or user"
	case how.InKernel():
		why = kernelRefuses(m)
	case !m.Has(stream.Encrypts):
		why = applicationCannot(m)
	case m.Role == stream.RX && c.RingsIn == RingsProcesses:
		why = "a ring of another process decrypts nothing: keep the rings in threads"
	}
	if why == "" {
		return nil
	}
	return c.refuse("tls", errors.New(why))
}

// kernelRefuses says why the kernel moves no records by a mode; "": it does.
func kernelRefuses(m stream.Mode) string {
	const user = "; tls: user decrypts what zero-copy receive brings"
	switch {
	case m.Role == stream.TX && m.Has(stream.ZeroCopy):
		return "tx " + m.Name + " sends with MSG_ZEROCOPY or from a dmabuf, which a socket with kTLS refuses " +
			"(EOPNOTSUPP, net/tls/tls_sw.c: tls_sw_sendmsg): use tx " + encryptedInstead(m, "sendfile, tcp or uring")
	case m.Role == stream.TX:
		return ""
	case m.Has(stream.UsesNICQueue | stream.DMABuf):
		return "rx " + m.Name + " has payload in memory that the CPU cannot read, and kTLS reads it to decrypt " +
			"it: use " +
			"rx tcp or uring" + user + " of zcrx"
	case m.Has(stream.UsesNICQueue):
		return "rx " + m.Name + " takes payload from TCP itself, and a socket with kTLS is read by another function " +
			"(EPROTONOSUPPORT, io_uring/zcrx.c: io_zcrx_recv): use rx tcp or uring" + user
	case m.Has(stream.ZeroCopy):
		return "rx " + m.Name + " maps what came, which are the records and not their payload: use rx tcp or uring"
	case m.Has(stream.NoPayload):
		return "rx " + m.Name + " drops payload of TCP (MSG_TRUNC), and kTLS knows no such receive: use rx tcp or uring"
	}
	return ""
}

// applicationCannot says why no application encrypts for a mode.
func applicationCannot(m stream.Mode) string {
	switch {
	case m.Has(stream.NoPayload):
		return "rx " + m.Name + " never gets the payload that it would decrypt: use rx tcp, uring or zcrx"
	case m.Role == stream.RX:
		return "rx " + m.Name + " does not decrypt by itself: use rx tcp, uring or zcrx"
	case m.Has(stream.ZeroCopy):
		return "tx " + m.Name + " sends memory that may not be overwritten until the kernel has let go of it, and " +
			"records are made in a buffer that is used again: use tx " + encryptedInstead(m, "tcp or uring")
	}
	return "tx " + m.Name + " sends what is in a file, which nobody has encrypted: use tx tcp or uring, or tls: ktls"
}

// encryptedInstead names what does the mode's work with payload that is encrypted.
func encryptedInstead(m stream.Mode, streams string) string {
	if m.Has(stream.RoundTrips) {
		return "rr"
	}
	return streams
}
