// SPDX-License-Identifier: MIT

package wire

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/zcbench/zcbench/machine/survey"
)

// SurveyParams says of what a snapshot is to be taken.
type SurveyParams struct {
	Dev   string `json:"dev,omitempty"`   // the interface whose queues the flow uses; "" is loopback
	Upper string `json:"upper,omitempty"` // the one with address and route, where that is another
	// More are interfaces beside Dev, of flows that have several.
	More []string `json:"more,omitempty"`
	Live bool     `json:"live,omitempty"` // only what may change while the host is up
}

// Check refuses interfaces that no end has.
func (p *SurveyParams) Check() error {
	return cmp.Or(checkUpper(p.Dev), checkUpper(p.Upper), checkDevs(p.More))
}

// Survey is a host's snapshot, as of package environment.
type Survey struct {
	Snapshot json.RawMessage `json:"snapshot"`
}

// Check refuses what is no whole snapshot.
func (s *Survey) Check() error {
	_, err := s.Parse()
	return err
}

// Parse parses the snapshot.
func (s *Survey) Parse() (*survey.Snapshot, error) {
	got, err := survey.Parse(s.Snapshot)
	if err == nil && got.Base != "" {
		err = errors.New("a snapshot that changes another one")
	}
	return got, err
}
