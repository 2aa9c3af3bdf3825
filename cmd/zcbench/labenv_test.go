// SPDX-License-Identifier: MIT

package main

import (
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/results/answer"
)

// Answers know the lab by the variable that its guest has.
func TestAnswersKnowTheLab(t *testing.T) {
	if answer.LabEnv != guest.Env {
		t.Errorf("%s, and the guest has %s", answer.LabEnv, guest.Env)
	}
}
