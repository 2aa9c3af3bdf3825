// SPDX-License-Identifier: MIT

package matrix

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/plan"
)

// Spec is an experiment: cells, where and how often they are run, and what makes
// a run invalid.
type Spec struct {
	Name        string
	Description string
	SUT, TG     End // both without Host: two network namespaces of this machine
	IPv6        bool
	Port        int

	// SharedWithSSH: the flow may share the interface by which ssh reaches a host. It
	// changes nothing of what is run.
	SharedWithSSH bool `json:"-"`

	All    plan.Cell // what holds for all cells, as far as no factor says it
	Cells  []plan.Cell
	Folded int        // combinations that are the same cell, because a factor does not concern their mode
	Base   *plan.Cell `json:",omitempty"` // the cell that reports compare the others with; nil: none was chosen
	// ids of the cells whose comparisons with the baseline count, the others are exploratory;
	// none: all count
	Primary []string `json:",omitempty"`
	// Against are what the partners of primary cells have where it does not concern these, one a
	// partner: options by name, as [plan.Option.Raw] tells them; none: what the baseline has
	Against []map[string]string `json:",omitempty"`
	About   []string            `json:",omitempty"` // factors that comparisons are about; none: all that vary
	// BetweenBoots is the spread of figures between boots of the hosts that the file
	// declares, 0.01 = 1 %; 0: none.
	BetweenBoots   float64       `json:",omitempty"`
	BetweenBootsOf int           `json:",omitempty"` // measured on so many; 0: the file does not say
	BetweenStarts  plan.Declared `json:",omitzero"`  // the same between starts of the agents
	Short          bool          `json:"-"`          // the file has more, which its short version leaves out
	Purpose        string        `json:"-"`          // [measure] or [Check]; "": the first
	Plan
	Gates  plan.Gates
	Common common
	// LossFree is how cells with that pace look for their rate; nil: as [DefaultLossFree] says.
	LossFree *LossFree `json:",omitempty"`

	Power Power `json:"-"`

	// Flags are the flags that said what a file says by these keys, such as sut.cpu.
	Flags map[string]string `json:"-"`

	File string `json:"-"` // the text that was parsed

	fileName string
	memoryAt map[string]At   // options of memory: where the file has a program make it
	folderAt map[string]At   // folders that payload is written to: where the file names them
	said     map[string]bool // [Keys] that the file or flags say
	ipv6At   ast.Node        // where the file says IPv6; nil: it does not

	lossFreeAt ast.Node // where it says LossFree
}

// End is one end of the flow and what is set on its host for all cells.
type End struct {
	Host string
	// HostAt is where the file names the host, for [Spec.Untrusted]; zero: flags named it.
	HostAt At `json:"-"`

	Dev  string
	Addr string // SUT only
	CPU  *int   // of the data-path thread where the cell says nothing of it; nil: chosen
	// of the threads of several flows, in turn, where more than one is named; CPU is the first
	CPUs []int `json:",omitempty"`
	Node *int  `json:",omitempty"` // NUMA node of all its CPUs, [AnyNode] for any; nil: that of its interface

	// Layouts are the CPUs of each cpu_layout.
	Layouts map[string]Layout `json:",omitempty"`

	Settings Settings
}

// At is a place in a file.
type At struct{ Line, Column int }

// Layout is which CPU does what.
type Layout struct {
	App int // the data-path thread
	IRQ int // the interrupts of the flow's queue
}

// Settings are changes to a host that hold for all cells and are undone at the end. What a
// cell says itself counts.
type Settings struct {
	Host   plan.Cell         // its options of hosts
	Sysctl map[string]string `json:",omitempty"`

	sysctlAt map[string]At // where the file names each
}

// Plan is in which order and how often cells run.
type Plan struct {
	Seed           uint64
	Repetitions    int // of each cell, warm-ups apart; adaptive: the most
	Adaptive       *Adaptive
	Again          int `json:",omitempty"` // how often the whole is played after the first time; see [Spec.Replays]
	Warmup         bool
	Order          order         `json:",omitempty"` // of runs
	Turn           time.Duration `json:",omitempty"` // with [turns], how long one is; 0: [usualTurn]
	Lengths        *Lengths      `json:",omitempty"` // of turns, that are compared beside; nil: none are
	Duration       time.Duration // of the steady window
	WarmupDuration time.Duration
	RampUp         time.Duration // cut before the window
	RampDown       time.Duration // cut after it
	// Rest is between runs, in which the CPUs' background is measured; nil: the window
	// says how long.
	Rest *time.Duration `json:",omitempty"`
}

// Adaptive ends a cell's repetitions early.
type Adaptive struct {
	Min      int     // repetitions
	Interval float64 // half the width of the median's interval over the median, 0.01 = +-1 %
}

// common are what is the same in every run.
type common struct {
	SampleInterval time.Duration
	Stall          time.Duration
}

// Hash identifies all that decides what is run, and in which order: two
// experiments with equal hashes can be parts of one journal. Comments and the
// layout of the file do not count.
func (s *Spec) Hash() string {
	// Maps are written in the order of their keys.
	b, err := json.Marshal(s)
	if err != nil {
		panic("matrix: a spec is plain data: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Called names what the user has to change where a key is wrong: the key, or the flag.
func (s *Spec) Called(key string) string {
	if f, ok := s.Flags[key]; ok {
		return f
	}
	return key
}

// Runs lists the whole plan in its order.
func (s *Spec) Runs() (plan []Run) {
	for replay := range s.Replays() {
		plan = append(plan, s.replay(replay)...)
	}
	return plan
}

// SetProbe gives all cells the same probes, which are as of [plan.Cell]. It
// refuses where the file has cells with different ones: they would fall together.
func (s *Spec) SetProbe(probe string) error {
	for _, c := range s.Cells {
		if c.Probe != s.Cells[0].Probe {
			return errors.New("the experiment's cells already differ in their probes, by its factor probe")
		}
	}
	for i := range s.Cells {
		s.Cells[i].Probe = probe
	}
	if s.Base != nil {
		s.Base.Probe = probe
	}
	return nil
}
