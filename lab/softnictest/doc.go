// SPDX-License-Identifier: MIT

// Package softnictest holds the soft NIC's own tests: they run inside the lab
// and check the module against what the rest of zcbench relies on. Outside the
// lab they skip.
//
//	CGO_ENABLED=0 go test -exec "$PWD/bin/zcbench lab exec --" ./lab/softnictest
package softnictest
