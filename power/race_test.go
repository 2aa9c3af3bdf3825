// SPDX-License-Identifier: MIT

//go:build race

package power

// raceDetector is set where it doubles what everything costs.
const raceDetector = true
