// SPDX-License-Identifier: MIT

package lab

// rdtsc reads this processor's time-stamp counter, which counts at a fixed rate.
func rdtsc() uint64
