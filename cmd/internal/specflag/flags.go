// SPDX-License-Identifier: MIT

// Package specflag has the flags of commands that make a plan of them: what an experiment file
// says, run and demo say by flags.
package specflag

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/cpulist"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
)

// Flags make a plan.
type Flags struct {
	Spec *matrix.Spec
	Cell plan.Cell // what was chosen; of the modes, if they are flags of one value
	// Usual is the mode of each end where many may be named and none is; "": all of TCP.
	Usual string
	// Asks is what a plan asks of which the user names the modes of one end at most: of these, or
	// of all of TCP. Nil: all pairs of modes are compared.
	Asks *matrix.Question
	// Numbers are those of flows that each pair of modes is to have; nil: the one that was chosen.
	Numbers []int
	// Without names options that the command has no flags of.
	Without []string

	sutCPU, tgCPU  cpulist.Flag
	cpus, tgCPUs   string
	node, tgNode   string
	maxCopied      float64
	manyRX, manyTX []string
	given          func(*plan.Option) bool // by a flag
	typed          func(*plan.Option) string
}

// Add defines the flags: those of hosts, options and the keys that are named, with the values
// of spec as defaults. With many, each mode may be given several times, and none stands for
// all.
func (f *Flags) Add(cmd *cobra.Command, spec *matrix.Spec, many bool, keys ...string) {
	f.Spec = spec
	fs := cmd.Flags()
	f.given = func(o *plan.Option) bool { return fs.Changed(o.FlagName()) }
	f.typed = func(o *plan.Option) string { return fs.Lookup(o.FlagName()).Value.String() }
	fs.StringVar(&f.Spec.SUT.Dev, "dev", "", "interface of the SUT, or several: eth0,eth1 (default: its only one)")
	fs.StringVar(&f.Spec.TG.Dev, "tg-dev", "",
		"interface of the TG, for its counters; several likewise (default: its only one)")
	fs.StringVar(&f.Spec.SUT.Addr, "addr", "", "IP address of the SUT (default: that of --dev)")
	fs.Var(&f.sutCPU, "sut-cpu",
		"CPU of the receiving thread, or a list for several flows; -1: not pinned (default: chosen)")
	fs.Var(&f.tgCPU, "tg-cpu", "CPU of the sending thread, like --sut-cpu")
	fs.StringVar(&f.cpus, "cpus", "",
		"the SUT's CPUs for application and softirq (default: on the NUMA node of its interface)")
	fs.StringVar(&f.tgCPUs, "tg-cpus", "", "the TG's CPUs, like --cpus")
	addGate(fs, &gateFlag{spec: spec, not: map[string]string{"copied": "--max-copied"}})
	fs.StringVar(&f.node, "node", "", "NUMA node of the SUT's CPUs, or any (default: that of its interface)")
	fs.StringVar(&f.tgNode, "tg-node", "", "NUMA node of the TG's CPUs, like --node")
	fs.Float64Var(&f.maxCopied, "max-copied", 1,
		"percentage of the payload that the kernel may copy before a zero-copy run is invalid")
	if many {
		for _, x := range []struct {
			role stream.Role
			into *[]string
			help string
		}{{stream.RX, &f.manyRX, "receive modes to run (default: all of TCP)"},
			{stream.TX, &f.manyTX, "send modes to run (default: all of TCP)"}} {
			if f.Usual != "" {
				x.help = strings.Replace(x.help, "all of TCP", f.Usual, 1)
			}
			if f.Usual == "" {
				fs.StringSliceVar(x.into, string(x.role), nil, x.help)
			} else {
				fs.Var(modesFlag{x.into}, string(x.role), x.help)
			}
			cmd.RegisterFlagCompletionFunc(string(x.role), cobra.FixedCompletions(modes.Names(x.role),
				cobra.ShellCompDirectiveNoFileComp))
		}
	}
	cli.AddOptions(cmd, &f.Cell, func(o *plan.Option) bool {
		return (o.Kind != plan.OfModes || !many) && !o.OfPlan && !slices.Contains(f.Without, o.Name)
	})
	addKeys(cmd, f.Spec, keys...)
	if order := fs.Lookup("order"); order != nil {
		order.DefValue = ""
		order.Usage += " (default: turns, where the cells can)"
	}
}

// modesFlag is a list of modes, of which the last that is said counts, as of flags of one value.
type modesFlag struct{ into *[]string }

func (m modesFlag) Set(s string) error {
	*m.into = strings.Split(s, ",")
	return nil
}

func (m modesFlag) Type() string   { return "stringSlice" }
func (m modesFlag) String() string { return "[" + strings.Join(*m.into, ",") + "]" }

// addKeys defines the flags of keys of a plan.
func addKeys(cmd *cobra.Command, spec *matrix.Spec, keys ...string) {
	for _, name := range keys {
		k := matrix.LookupKey(name)
		v := cmd.Flags().VarPF(&keyFlag{key: k, spec: spec}, k.Flag, map[string]string{"ipv6": "6"}[name], k.Help)
		if k.Type == "bool" {
			v.NoOptDefVal = "true"
		}
	}
}

// Order are the flags that say how runs of a plan that is written down follow each other.
type Order struct {
	said *matrix.Spec
	cmd  *cobra.Command
}

var orderKeys = []string{"order", "turn"}

// Add defines them.
func (o *Order) Add(cmd *cobra.Command) {
	o.said, o.cmd = matrix.New(), cmd
	addKeys(cmd, o.said, orderKeys...)
	for _, name := range orderKeys {
		f := cmd.Flags().Lookup(name)
		f.Usage, f.DefValue = f.Usage+" (default: as the plan says)", ""
	}
}

// Over puts what was said in the place of what the plan says.
func (o *Order) Over(s *matrix.Spec) error {
	for _, name := range orderKeys {
		k := matrix.LookupKey(name)
		if !o.cmd.Flags().Changed(k.Flag) {
			continue
		}
		if err := k.Say(s, k.Get(o.said)); err != nil {
			return cli.Usagef("--%s: %w", k.Flag, err)
		}
	}
	switch fs := o.cmd.Flags(); {
	case fs.Changed("turn") && !fs.Changed("order"):
		s.TakeTurns()
	case s.TurnLength() == 0 && !fs.Changed("turn"):
		s.InBlocks() // without what the plan said of its turns
	}
	if err := s.TurnsFit(); err != nil {
		return cli.UsageError(err)
	}
	return nil
}

// keyFlag is the flag of a plan's key.
type keyFlag struct {
	key  *matrix.Key
	spec *matrix.Spec
}

func (f *keyFlag) String() string {
	if f.key == nil {
		return ""
	}
	return f.key.Get(f.spec)
}

func (f *keyFlag) Set(s string) error {
	if b, err := strconv.ParseBool(s); err == nil && f.key.Type == "bool" {
		s = strconv.FormatBool(b)
	}
	return f.key.Say(f.spec, s)
}
func (f *keyFlag) Type() string { return f.key.Type }

// Finish makes the plan: a cell of every pair of modes.
func (f *Flags) Finish(name string) (*matrix.Spec, error) {
	s := f.Spec
	s.Name = name
	for _, h := range []string{s.SUT.Host, s.TG.Host} {
		if _, err := host.ParseSpec(h); h != "" && err != nil {
			return nil, cli.UsageError(err)
		}
	}
	if err := f.checkAddr(); err != nil {
		return nil, err
	}
	var err error
	if s.Gates.Copied, err = cli.CopiedFraction(f.maxCopied); err != nil {
		return nil, err
	}
	if err := f.place(); err != nil {
		return nil, err
	}
	if err := f.cells(); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		flag string
		role stream.Role
		cpus []int
	}{{"--sut-cpu", stream.RX, f.sutCPU}, {"--tg-cpu", stream.TX, f.tgCPU}} {
		if err := plan.SpareCPUs(x.role, x.cpus, s.Cells...); err != nil {
			return nil, cli.Usagef("%s: %w", x.flag, err)
		}
	}
	s.WantTurns()
	if err := s.TurnsFit(); err != nil {
		return nil, cli.UsageError(err)
	}
	for i := range s.Cells {
		if err := s.Cells[i].CheckRequests(s.Duration); err != nil {
			return nil, cli.OptionError(err)
		}
		if err := matrix.SharedQueues(&s.Cells[i], s.SUT.ThreadCPUs()); err != nil {
			return nil, cli.UsageError(err)
		}
	}
	return s, nil
}

func (f *Flags) checkAddr() error {
	addr := f.Spec.SUT.Addr
	if addr == "" {
		return nil
	}
	switch a, err := netip.ParseAddr(addr); {
	case err != nil:
		return cli.Usagef("--addr %q: want an IP address", addr)
	case f.Spec.IPv6 && !a.Is6():
		return cli.Usagef("--ipv6 and --addr %s cannot be combined", addr)
	}
	return nil
}

// cells pairs the modes. What was chosen and concerns none of them is an error.
func (f *Flags) cells() error {
	rx, tx := f.manyRX, f.manyTX
	if f.Cell.RX != "" {
		rx, tx = []string{f.Cell.RX}, []string{f.Cell.TX}
	}
	for role, names := range map[stream.Role][]string{stream.RX: rx, stream.TX: tx} {
		for _, n := range names {
			if _, err := modes.Find(role, n); err != nil {
				return cli.Usagef("--%s: %w", role, err)
			}
		}
	}
	if len(rx) == 0 {
		rx = f.usual(stream.RX)
	}
	if len(tx) == 0 {
		tx = f.usual(stream.TX)
	}
	if f.asks() {
		f.ask()
		return f.check()
	}
	if c := plan.Unpaired(rx, tx); c != nil {
		return cli.UsageError(c.Check())
	}
	for _, r := range rx {
		for _, t := range tx {
			c := f.Cell
			c.ID, c.RX, c.TX = r+"/"+t, r, t
			c.Drop()
			if c.MovesPackets() && !c.RoundTrips() && !f.given(plan.LookupOption("message")) {
				c.MessageBytes = stream.DefaultDatagramBytes
			}
			if c.OneKind() {
				f.Spec.Cells = append(f.Spec.Cells, f.eachNumber(c)...)
			}
		}
	}
	for _, n := range f.Numbers {
		if n > 1 && !slices.ContainsFunc(f.Spec.Cells, func(c plan.Cell) bool { return c.NFlows() == n }) {
			return cli.Usagef("--flows %d: none of these modes can have several flows", n)
		}
	}
	return f.check()
}

// eachNumber returns the cells of a pair, one for each number of flows.
func (f *Flags) eachNumber(c plan.Cell) (all []plan.Cell) {
	if f.Numbers == nil {
		return []plan.Cell{c}
	}
	for _, n := range f.Numbers {
		x := c
		if n > 1 {
			x.ID, x.Flows = c.ID+" flows="+strconv.Itoa(n), n
		}
		if x.Drop(); x.NFlows() == n {
			all = append(all, x)
		}
	}
	return all
}

// asks reports whether the plan is that of a question: not where pairs are named, or modes that it
// is not about.
func (f *Flags) asks() bool {
	if f.Asks == nil || len(f.manyRX) > 0 && len(f.manyTX) > 0 {
		return false
	}
	other := func(role stream.Role, names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(TCPModes(role), n) })
	}
	return !other(stream.RX, f.manyRX) && !other(stream.TX, f.manyTX)
}

// ask makes the cells of the question. Its application reads what it receives, from a buffer that
// it reuses, unless the user says something else.
func (f *Flags) ask() {
	q, c := *f.Asks, f.Cell
	switch {
	case len(f.manyRX) > 0:
		q.RX = withUsual(f.manyRX)
	case len(f.manyTX) > 0:
		q.TX = withUsual(f.manyTX)
	default:
		q.RX, q.TX = TCPModes(stream.RX), TCPModes(stream.TX)
	}
	if c.Paced() {
		q.Paces = nil
	}
	for name, v := range map[string]string{"touch": string(stream.TouchRead), "rx_buffer": "hot"} {
		if o := plan.LookupOption(name); !f.given(o) {
			_ = o.Set(&c, v)
		}
	}
	f.Spec.Ask(q, c)
}

// withUsual adds the mode that others are compared with.
func withUsual(names []string) []string {
	if slices.Contains(names, "tcp") {
		return names
	}
	return append([]string{"tcp"}, names...)
}

// mayTakeTurns reports whether what turns need can be set on this host.
var mayTakeTurns = bench.MayTakeTurns

// ChooseOrder chooses how the runs of a plan follow one another ([matrix.Spec.ChooseOrder]), whose
// power is measured or not.
func ChooseOrder(s *matrix.Spec, power bool) matrix.Choice {
	why := ""
	switch {
	case power:
		why = "power is measured, of which only turns of a second and more can tell (turn: 1s)"
	case !mayTakeTurns() && (s.SUT.Host == "local" || s.TG.Host == "local"):
		why = "net.ipv4.tcp_slow_start_after_idle=0 takes root (CAP_NET_ADMIN)"
	}
	return s.ChooseOrder(why)
}

// ChooseOrder does so for the flags' plan, and returns what the user is told where several cells
// take no turns though nobody said so. A turn is so long where the user does not say; 0: as usual.
func (f *Flags) ChooseOrder(turn time.Duration, power bool) (line string) {
	s := f.Spec
	if !s.SaysOrder() {
		s.Turn = turn
	}
	c := ChooseOrder(s, power)
	if c.Why == "" {
		return ""
	}
	s.Turn = 0
	if len(s.Cells) < 2 {
		return ""
	}
	return "Runs follow one another, and do not take turns: " + c.Why + "."
}

// usual lists the modes of a role where none is named.
func (f *Flags) usual(role stream.Role) []string {
	if f.Usual != "" {
		return []string{f.Usual}
	}
	return TCPModes(role)
}

// TCPModes lists the modes of a role that a plan has unless it names some.
func TCPModes(role stream.Role) (names []string) {
	for _, m := range modes.All {
		if m.Role == role && m.Kind == stream.Stream && !m.Has(stream.RoundTrips) {
			names = append(names, m.Name)
		}
	}
	return names
}

// check refuses options that no cell has left, and values that none can have.
func (f *Flags) check() error {
	cells := f.Spec.Cells
	for i := range plan.Factors {
		o := &plan.Factors[i]
		v := o.Raw(&f.Cell)
		if !f.given(o) {
			v = "" // a default, which is not of all modes
		}
		if v != "" && !slices.ContainsFunc(cells, func(c plan.Cell) bool { return o.Raw(&c) == v }) {
			return cli.Usagef("--%s %s: it applies to %s, and not to this run: %s", o.FlagName(),
				f.typed(o), o.Whom(), o.Instead(true))
		}
		if err := matrix.Settable(o, v); v != "" && err != nil {
			return cli.Usagef("--%s: %w", o.FlagName(), err)
		}
	}
	if err := uring.Engine(f.Cell.UringEngine).Check(); err != nil {
		return cli.Usagef("--uring-engine: %w", err)
	}
	return nil
}

// place reads the CPUs: those of the threads, or those of a layout.
func (f *Flags) place() error {
	f.Spec.Flags = map[string]string{"sut.cpu": "--sut-cpu", "tg.cpu": "--tg-cpu", "sut.node": "--node",
		"tg.node": "--tg-node"}
	for _, x := range []struct {
		flag, text string
		to         **int
	}{{"--node", f.node, &f.Spec.SUT.Node}, {"--tg-node", f.tgNode, &f.Spec.TG.Node}} {
		if x.text == "" {
			continue
		}
		var err error
		if *x.to, err = matrix.ParseNode(x.text); err != nil {
			return cli.Usagef("%s: %w", x.flag, err)
		}
	}
	for _, x := range []struct {
		end, flag, text string
		cpus            []int
		into            *matrix.End
	}{{"sut", "--cpus", f.cpus, f.sutCPU, &f.Spec.SUT}, {"tg", "--tg-cpus", f.tgCPUs, f.tgCPU, &f.Spec.TG}} {
		if len(x.cpus) > 0 {
			x.into.NameCPUs(x.cpus)
		}
		layout, named := &f.Cell.CPULayout, "--layout"
		if x.end == "tg" && (f.Cell.TGCPULayout != "" || x.text != "") {
			layout, named = &f.Cell.TGCPULayout, "--tg-layout"
		}
		if x.text == "" {
			if *layout != "" && slices.Contains(x.cpus, -1) {
				return cli.Usagef("%s %s needs pinned threads: drop the -1, or name the CPUs with %s", named, *layout,
					x.flag)
			}
			continue
		}
		c, err := place.ParseCPUs(x.text)
		if err != nil {
			return cli.Usagef("%s: %w", x.flag, err)
		}
		if len(x.cpus) > 0 {
			return cli.Usagef("%s already names the thread's CPU: leave out --sut-cpu and --tg-cpu", x.flag)
		}
		own := string(c.Layout())
		if *layout != "" && own != *layout {
			return cli.Usagef("%s %s is the layout %s, not %s", x.flag, x.text, own, *layout)
		}
		if own != f.Cell.CPULayout || *layout != "" { // else the TG's follows
			*layout = own
		}
		x.into.Layouts = map[string]matrix.Layout{own: {App: c.App, IRQ: c.Softirq}}
		for _, part := range []string{"app", "irq"} {
			f.Spec.Flags[x.end+".layouts."+own+"."+part] = x.flag
		}
	}
	return nil
}
