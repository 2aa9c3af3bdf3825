// SPDX-License-Identifier: MIT

package report

// flagWords are what flags mean that come without a warning of their own. The marks themselves are
// those of runs.csv (docs/schema.md).
var flagWords = map[string]string{
	"shared-machine":   "both ends ran on one machine; CPU figures are those of each end's own CPUs",
	"softirq-by-irq":   "the layout was made by the affinity of interrupts",
	"power-missing":    "the first power source has no figure",
	"power-slow-meter": "the first power source does not follow the load within the guard, and has no figure",
	"power-response-unknown": "nothing tells how fast the first power source follows the load, so there is no power " +
		"above idle",
	"power-no-idle":     "idle power was not measured both before and after",
	"power-guard-short": "--power-guard was below 10 s, so readings may still have been settling",
	"power-clock-skew": "the hosts' clocks agree to no better than 50 ms, so power and payload may be of " +
		"unlike times",
	"power-mixed-scopes": "the ends' power is of unlike scope, such as package and wall, so there is no total",
	"power-idle-drift":   "idle power before and after differ by more than the gate allows",
	"shared-power":       "one instrument saw both ends: each row has the power of both, and totals count it once",
	"calibration":        "not paced: paces in percent refer to it",
	"trial":              "of a search for the highest rate without loss",
}

// worded adds its meaning to a flag, and leaves any other text as it is.
func worded(text string) string {
	if words := flagWords[text]; words != "" {
		return text + ": " + words
	}
	return text
}
