// SPDX-License-Identifier: MIT

// Package kselftests knows the kernel's own driver tests in Python
// (tools/testing/selftests/drivers/net of the kernel's source) that the lab runs on the
// soft NIC: which there are, what they say (KTAP), and what each of their cases is
// expected to say of each kernel, with the reason where that is not a pass.
package kselftests
