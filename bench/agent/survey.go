// SPDX-License-Identifier: MIT

package agent

import (
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/survey"
)

// survey takes the host's snapshot. Who was busy is between hello and now: long before a flow.
func (a *agent) survey(req wire.Request) (any, error) {
	var p wire.SurveyParams
	if err := req.Decode(&p); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	devs := survey.Devs{Port: p.Dev, Upper: p.Upper, More: p.More}
	if p.Live {
		return surveyed(survey.Live(survey.FS{}, devs)), nil
	}
	time.Sleep(time.Until(a.began.Add(survey.LeastGap)))
	return surveyed(survey.Whole(survey.FS{}, devs,
		survey.Busy(a.processes, survey.ReadProcesses(survey.FS{}, time.Now()))...)), nil
}

func surveyed(s *survey.Snapshot) wire.Survey { return wire.Survey{Snapshot: s.Encode()} }
