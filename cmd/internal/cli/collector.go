// SPDX-License-Identifier: MIT

package cli

import "os"

// ballast is memory that is never touched, so that it takes none. To the garbage collector it
// counts like any other.
var ballast []byte

// ballastBytes lets a process collect after as many bytes of garbage, and not after 4 MB.
const ballastBytes = 16 << 20

// calmCollector lets the collector run when there is much to be collected: so much garbage a
// process may hold then. It runs whenever the heap has doubled, and that of an agent is a few MB:
// it ran after every few answers, for a tenth of the CPU time of a short run, and now and then
// while flows were measured. A share (GOGC) would do the same to the largest of heaps, such as a
// report's. Who sets GOGC or GOMEMLIMIT has the last word.
func calmCollector() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" && ballast == nil {
		ballast = make([]byte, ballastBytes)
	}
}
