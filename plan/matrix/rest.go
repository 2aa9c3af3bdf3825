// SPDX-License-Identifier: MIT

package matrix

import "time"

// autoRest as a rest leaves its length to the window.
const autoRest = "auto"

var restKey = Key{Name: "rest", Flag: "rest", Type: "duration",
	Help: "idle time between runs, used to measure background load; auto: a tenth of the window, at most 1s",
	get: func(s *Spec) string {
		if s.Rest == nil {
			return autoRest
		}
		return s.Rest.String()
	},
	set: func(s *Spec, text string) error {
		if text == autoRest {
			s.Rest = nil
			return nil
		}
		d, err := zeroOr(durationWithin(100*time.Millisecond, mostDuration))(text)
		if err == nil {
			s.Rest = &d
		}
		return err
	}}
