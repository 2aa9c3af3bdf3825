// SPDX-License-Identifier: MIT

package race

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
)

// four settings, of two factors of two levels. Where the first is set on a host, two are together.
func four(host bool) *Field {
	two := []string{"as it is", "other"}
	return &Field{Mode: "uring", Factors: []Factor{{"message", two, host}, {"read", two, false}},
		Arms: [][]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}}
}

// Few settings have many starts in their time, and the best vary the most, as was seen on veth: 9,
// 20 and 31 Gbit/s, the best by 6 % from start to start and the slow ones by .5 %. A race in which
// two starts told who is worse was wrong in 25 of 100, and said that it had a resolution of 1 %. It
// goes on as long as there is time, unless all others are told to be worse, by as many starts as it
// takes.
func TestFewSettings(t *testing.T) {
	rounds, least := long.Rounds(20, 400), float64(long.Rounds(80, 94)) // few rounds tell a share badly
	for _, land := range []struct {
		name  string
		truth []float64
	}{
		{"as on veth", []float64{math.Log(9), math.Log(20), math.Log(30), math.Log(31)}},
		{"two near the best", []float64{-.1, -.01, -.005, 0}},
		{"two near each other", []float64{-.2, -.2, -.01, 0}},
		{"flat", make([]float64, 4)},
	} {
		for _, of := range []noise{likeAA, faster(.02), faster(.06)} {
			for _, factorials := range []float64{3.5, 24} { // what six starts of each take, and four times that
				t.Run(fmt.Sprint(land.name, ", ", of.name, ", ", factorials), func(t *testing.T) {
					var c tally
					early, resolution := 0.0, 0.0
					for round := range rounds {
						f := four(round%3 == 1)
						b := Budget{Arm: .6, Start: .5, Change: .3}
						if round%3 == 2 {
							b.Together = 1
						}
						b.Seconds = b.Factorial(f, 6) * factorials / 6
						rng := rand.New(rand.NewPCG(uint64(round), 77))
						truth := slices.Clone(land.truth)
						rng.Shuffle(len(truth), func(i, k int) { truth[i], truth[k] = truth[k], truth[i] })
						p := playOn(t, f, b, &machine{noise: of, rng: rng, truth: truth, budget: b, last: -1}, round)
						c.add(&p)
						if p.Resolution != nil {
							resolution += *p.Resolution / float64(rounds)
						}
						over := p.Spent() < .75*b.Seconds
						if over {
							early += 100 / float64(rounds)
						}
						for _, x := range p.Standing() {
							worse := strings.HasPrefix(x.Why, "worse")
							if worse && x.Starts < enough || over && !worse && x.Arm != p.Winner {
								t.Errorf("%s, %s: %+v, after %.0f of %.0f s", land.name, of.name, x, p.Spent(), b.Seconds)
							}
						}
					}
					text := fmt.Sprintf("%s; %s, time for %.1f starts of each: %v, resolution %.1f %%, %.0f %% over early",
						land.name, of.name, factorials, c, 100*resolution, early)
					if t.Log(text); c.of(c.bound) < least || of.finds() && c.of(c.good) < 95 {
						t.Errorf("%s: not so good as it is to be", text)
					}
				})
			}
		}
	}
}
