// SPDX-License-Identifier: MIT

package fault

// NonsenseError is an answer that no agent of ours gives.
type NonsenseError struct {
	Err error
	How string // what to do about it
}

func (e *NonsenseError) Error() string { return "the agent answered nonsense: " + e.Err.Error() }

func (e *NonsenseError) Unwrap() error { return e.Err }

// Fix returns what the user can do about it.
func (e *NonsenseError) Fix() string { return e.How }
