// SPDX-License-Identifier: MIT

package answer

// Stops lists the numbers of the reasons that support a sentence, as a summary cites them.
func (s *Sentence) Stops() (numbers []int) {
	seen := map[int]bool{}
	for _, v := range s.StandsOn {
		if v.Stop > 0 && !seen[v.Stop] {
			seen[v.Stop] = true
			numbers = append(numbers, v.Stop)
		}
	}
	return numbers
}
