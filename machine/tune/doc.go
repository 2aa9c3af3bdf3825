// SPDX-License-Identifier: MIT

// Package tune reads and sets what belongs to a whole host rather than to an
// interface: sysctls, huge pages, the CPUs' frequency governor, the depth of
// their idle states, irqbalance. What it sets stays set: package lease restores.
package tune
