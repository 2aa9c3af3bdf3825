// SPDX-License-Identifier: MIT

package labtest

import (
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
)

// Encrypted runs zcbench with a flow that the application decrypts from where the NIC put it: no
// byte of it was copied by the kernel, all of it was right, and what the application gathered is
// told apart.
func Encrypted(t *testing.T, rx string, args ...string) {
	Need(t)
	long.Test(t)
	r := measured(t, rx, append(args, "--tls", "user", "--touch", "verify",
		"--message-size", "256K", "--pace", "20M")...) // an emulated CPU has no instructions for AES
	n, gathered := r.SUT.Value("tls_records"), r.SUT.Value("tls_gathered_bytes")
	if r.Verdict != results.OK || *r.SUT.Mismatches != 0 || *r.SUT.ZeroCopyBytes != *r.SUT.Bytes || !(n > 0) ||
		!(gathered >= 0) || r.SUT.Value("tls_version") != 1.3 {
		t.Errorf("%s: %s; %d of %d bytes without a copy, %v records, %v bytes gathered", r.Verdict, r.Reason,
			*r.SUT.ZeroCopyBytes, *r.SUT.Bytes, n, gathered)
	}
	t.Logf("%.2f Gbit/s, %.0f records, %.0f bytes gathered of %d", *r.SUT.ThroughputGbps, n, gathered,
		*r.SUT.TotalBytes)
}
