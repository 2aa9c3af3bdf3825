package host

import "time"

// SetEndTime sets how long an agent may be silent after its input has ended, and
// returns what undoes that.
func SetEndTime(d time.Duration) (undo func()) {
	old := endTime
	endTime = d
	return func() { endTime = old }
}
