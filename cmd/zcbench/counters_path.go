// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/cmd/internal/cli"
	"github.com/zcbench/zcbench/internal/ifpath"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/machine/hops"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// follower is a running `zcbench counters` of several interfaces.
type follower struct {
	flags *countersFlags
	out   io.Writer
	path  *hops.Path
	drops *bpf.Drops // nil: not asked for
}

// pathState is what was counted so far.
type pathState struct {
	before bpf.DropReading // of drops, when the counters were not yet read
	read   hops.Reading
	seen   bpf.DropReading // when they were
}

// follow shows what passes along a path of interfaces.
func (f *countersFlags) follow(ctx context.Context, out, stderr io.Writer) error {
	if f.all {
		return cli.Usagef("--all takes one interface: a path's table already shows all that is compared")
	}
	places, err := ifpath.Parse(f.dev)
	if err != nil {
		return cli.Usagef("--dev: %w", err)
	}
	for i := range places {
		if places[i].Netns == "" {
			places[i].Netns = f.netns
		}
	}
	x := &follower{flags: f, out: out}
	x.path, err = hops.Open(places, func(name string) (*veth.Netns, error) { return openNetns(name) })
	if p := (*hops.PlaceError)(nil); errors.As(err, &p) && !errors.Is(err, unix.EPERM) {
		return cli.Usagef("--dev: %w", err)
	}
	if err != nil {
		return err
	}
	defer x.path.Close()
	if f.why {
		if x.drops, err = bpf.OpenDrops(bpf.DropsOptions{}); err != nil {
			return fmt.Errorf("--why: %w", err)
		}
		defer x.drops.Close()
	}
	if !f.json {
		x.sayHow(stderr)
	}
	return x.watch(ctx)
}

// sayHow prints for which neighbours the kernel does not say how they are related.
func (x *follower) sayHow(w io.Writer) {
	for _, l := range x.path.Links {
		if l.Sure {
			continue
		}
		taken := "two interfaces of a host that forwards"
		if l.Relation == hops.Wire {
			taken = "the two ends of a link"
		}
		fmt.Fprintf(w, "%s and %s: the kernel does not say how packets get from one to the other: assumed to be %s\n",
			plaintext.Line(x.path.Hops[l.From].String()), plaintext.Line(x.path.Hops[l.To].String()), taken)
	}
}

func (x *follower) read() (s pathState, err error) {
	if x.drops != nil {
		if s.before, err = x.drops.Read(); err != nil {
			return s, err
		}
	}
	if s.read, err = x.path.Read(); err != nil || x.drops == nil {
		return s, err
	}
	s.seen, err = x.drops.Read()
	return s, err
}

// watch prints a table after each interval.
func (x *follower) watch(ctx context.Context) error {
	last, err := x.read()
	if err != nil {
		return err
	}
	return everyInterval(ctx, x.flags.interval, x.flags.count, last, x.read, func(last, now pathState) error {
		drops, warning, err := x.dropsBetween(last, now)
		if err != nil {
			return err
		}
		d := x.path.Between(last.read, now.read, drops)
		return x.show(&d, warning)
	})
}

// dropsBetween reads the drops at the path's interfaces between two states.
func (x *follower) dropsBetween(from, to pathState) (seen hops.Seen, warning string, err error) {
	if x.drops == nil {
		return seen, "", nil
	}
	for _, of := range []struct {
		into *hops.DropsOf
		rows bpf.DropReading
	}{{&seen.Least, to.before.Sub(from.seen)}, {&seen.Most, to.seen.Sub(from.before)},
		{&seen.Of, to.seen.Sub(from.seen)}} {
		table, err := x.drops.Named(of.rows)
		if err != nil {
			return seen, "", err
		}
		*of.into, warning = x.dropsOf(table), table.Warning
	}
	return seen, warning, nil
}

func (x *follower) dropsOf(table bpf.DropTable) hops.DropsOf {
	return func(h *hops.Hop, sends bool) (out []ledger.Drop) {
		for _, d := range table.Drops {
			// Counters of interfaces have what GSO or GRO made one of as one.
			one := ledger.Drop{Reason: d.Reason, Function: d.Function, Packets: d.SKBs, SKBs: d.SKBs}
			if d.NotLost == "" && x.of(h, d) && hops.Leaving(one) == sends {
				out = append(out, one)
			}
		}
		return out
	}
}

// of reports whether a drop was at an interface, which has a name only where the probe was loaded.
func (x *follower) of(h *hops.Hop, d bpf.Drop) bool {
	return bpf.SameNetns(d.Netns, h.Inode) && (d.Interface == fmt.Sprintf("#%d", h.Index) || d.Interface == h.Dev &&
		h.Netns == "")
}

// pathOutput is what `zcbench counters --json` prints of a path after each interval.
type pathOutput struct {
	At        string           `json:"at"` // the end of the interval, RFC 3339
	Seconds   float64          `json:"seconds"`
	Hops      []hopOutput      `json:"interfaces"` // in the order of the path
	Crossings []crossingOutput `json:"between"`    // neighbours; those of the list's direction first
	Ends      []endOutput      `json:"ends"`       // what was lost where the path has no neighbour
	Warning   string           `json:"warning,omitempty"`
}

type hopOutput struct {
	Dev                string  `json:"dev"`
	Kind               string  `json:"kind,omitempty"`
	RxPacketsPerSecond float64 `json:"rx_packets_per_second"`
	TxPacketsPerSecond float64 `json:"tx_packets_per_second"`
	RxBytesPerSecond   float64 `json:"rx_bytes_per_second"`
	TxBytesPerSecond   float64 `json:"tx_bytes_per_second"`
	hops.Traffic
}

// MarshalJSON leaves out the figures of an interface of which a counter was reset.
func (h hopOutput) MarshalJSON() ([]byte, error) {
	if h.Reset {
		return json.Marshal(struct {
			Dev   string `json:"dev"`
			Kind  string `json:"kind,omitempty"`
			Reset bool
		}{h.Dev, h.Kind, true})
	}
	type plain hopOutput
	return json.Marshal(plain(h))
}

type crossingOutput struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Left    string `json:"left"` // the counter of each
	Came    string `json:"came"`
	Sent    uint64 `json:"sent_packets"`
	Arrived uint64 `json:"arrived_packets"`
	Lost    int64  `json:"lost_packets"`
	Skew    uint64 `json:"skew_packets"` // passed while the counters were read: lost and untold may be off by so many
	// What was really lost is between these: the skew and what waited are taken into account.
	LostLeast   int64          `json:"lost_least_packets"`
	LostMost    int64          `json:"lost_most_packets"`
	Begin       queueOutput    `json:"waiting_at_begin"` // between the two
	End         queueOutput    `json:"waiting_at_end"`
	Unknown     []string       `json:"waiting_unknown"` // queues whose length the kernel does not tell
	Told        []lossOutput   `json:"told"`            // by counters
	Seen        []reasonOutput `json:"seen"`            // to be dropped, and told by none of them
	Untold      int64          `json:"untold"`          // lost, and neither told nor seen
	UntoldLeast int64          `json:"untold_least_packets"`
	UntoldMost  int64          `json:"untold_most_packets"`
	Reset       bool           `json:"reset"`        // a counter fell: the figures tell nothing
	Sure        bool           `json:"kernel_knows"` // how the two are related
}

// MarshalJSON leaves out the figures where a counter was reset.
func (c crossingOutput) MarshalJSON() ([]byte, error) {
	if c.Reset {
		return json.Marshal(struct {
			From  string `json:"from"`
			To    string `json:"to"`
			Left  string `json:"left"`
			Came  string `json:"came"`
			Reset bool   `json:"reset"`
			Sure  bool   `json:"kernel_knows"`
		}{c.From, c.To, c.Left, c.Came, true, c.Sure})
	}
	type plain crossingOutput
	return json.Marshal(plain(c))
}

type queueOutput struct {
	Qdisc   uint64 `json:"qdisc_packets"`       // in the queueing disciplines of the one that sends
	Backlog uint64 `json:"cpu_backlog_packets"` // in the backlogs of all CPUs, of whatever interface
	InHand  uint64 `json:"cpu_in_hand_packets"` // at most, taken out of a queue by a CPU
}

type endOutput struct {
	Dev  string         `json:"dev"`
	Way  string         `json:"way"` // tx: before it was sent; rx: after it was received
	Told []lossOutput   `json:"told"`
	Seen []reasonOutput `json:"seen"`
	// Drops are read before and after the counters are.
	SeenLeast uint64 `json:"seen_least_packets"`
	SeenMost  uint64 `json:"seen_most_packets"`
}

type lossOutput struct {
	Counter string         `json:"counter"`
	Packets uint64         `json:"packets"`
	Why     []reasonOutput `json:"why,omitempty"`
}

type reasonOutput struct {
	Reason   string `json:"reason"`
	Function string `json:"function,omitempty"`
	Packets  uint64 `json:"packets"`
}

func (x *follower) report(d *hops.Diff, warning string) pathOutput {
	o := pathOutput{At: time.Now().UTC().Format(time.RFC3339Nano), Seconds: d.Seconds, Ends: []endOutput{},
		Warning: plaintext.Line(warning)}
	dev := func(n int) string { return plaintext.Line(x.path.Hops[n].String()) }
	rate := func(n uint64) float64 { return float64(n) / d.Seconds }
	for i, t := range d.Hops {
		o.Hops = append(o.Hops, hopOutput{dev(i), x.path.Hops[i].Kind, rate(t.RxPackets), rate(t.TxPackets),
			rate(t.RxBytes), rate(t.TxBytes), t})
	}
	for i := range d.Crossings {
		c := &d.Crossings[i]
		told, seen, unseen := losses(&c.Account)
		o.Crossings = append(o.Crossings, crossingOutput{From: dev(c.From), To: dev(c.To), Left: c.Left, Came: c.Came,
			Sent: c.Sent, Arrived: c.Arrived,
			Lost: c.Lost(), Skew: c.Skew, LostLeast: c.LostLeast, LostMost: c.LostMost,
			Begin: queueOutput(c.Begin), End: queueOutput(c.End), Unknown: plainAll(c.Unknown),
			UntoldLeast: c.UntoldLeast, UntoldMost: c.UntoldMost, Told: told, Seen: seen,
			Untold: c.Account.LeftLeast - int64(unseen), Reset: d.Hops[c.From].Reset || d.Hops[c.To].Reset,
			Sure: x.path.Links[i%len(x.path.Links)].Sure})
	}
	for _, e := range d.Ends {
		told, seen, _ := losses(&e.Account)
		way := "rx"
		if e.Sends {
			way = "tx"
		}
		o.Ends = append(o.Ends, endOutput{dev(e.Hop), way, told, seen, e.SeenLeast, e.SeenMost})
	}
	return o
}

func plainAll(all []string) []string {
	out := []string{}
	for _, s := range all {
		out = append(out, plaintext.Line(s))
	}
	return out
}

// losses collects the losses that counters tell of, and the drops that were seen besides.
func losses(b *ledger.Balance) (told []lossOutput, seen []reasonOutput, unseen uint64) {
	told, seen = []lossOutput{}, []reasonOutput{}
	why := func(drops []ledger.Drop) (out []reasonOutput) {
		for _, d := range drops {
			out = append(out, reasonOutput{plaintext.Line(d.Reason), plaintext.Line(d.Function), d.Packets})
		}
		return out
	}
	for _, r := range b.Rows {
		told = append(told, lossOutput{plaintext.Line(r.Name), r.Count, why(r.Why)})
	}
	seen = append(seen, why(b.Uncounted)...)
	for _, d := range b.Uncounted {
		unseen += d.Packets
	}
	return told, seen, unseen
}

func (x *follower) show(d *hops.Diff, warning string) error {
	o := x.report(d, warning)
	if x.flags.json {
		return json.NewEncoder(x.out).Encode(o)
	}
	b := screen.NewWriter(x.out)
	fmt.Fprintf(b, "%s, %.2f s\n", time.Now().Format(time.TimeOnly), o.Seconds)
	t := screen.Aligned("<<<<<")
	t.Head("interface", "rx packets/s", "tx packets/s", "rx kB/s", "tx kB/s")
	for _, h := range o.Hops {
		if h.Reset {
			t.Row(h.Dev, "", "", "", "")
			continue
		}
		row := []string{h.Dev}
		for _, v := range []float64{h.RxPacketsPerSecond, h.TxPacketsPerSecond, h.RxBytesPerSecond / 1e3,
			h.TxBytesPerSecond / 1e3} {
			row = append(row, strconv.FormatFloat(v, 'f', 1, 64))
		}
		t.Row(row...)
	}
	t.Write(b)
	b.WriteByte('\n')
	between(b, o.Crossings)
	for _, e := range o.Ends {
		fmt.Fprintf(b, "%s, %s:\n", e.Dev, map[string]string{"tx": "not sent", "rx": "received, not passed on"}[e.Way])
		for _, word := range by(e.Told, e.Seen, 0) {
			screen.Line(b, "    ", "      ", word)
		}
	}
	if o.Warning != "" {
		screen.Line(b, "", "  ", o.Warning)
	}
	b.WriteByte('\n')
	return b.Flush()
}

// between writes the table of neighbours. What explains a loss has lines of its own.
func between(w io.Writer, all []crossingOutput) {
	t := screen.Aligned("<<<<<")
	t.Head("between", "packets", "arrived", "lost", "share")
	for i := range all {
		t.Row(all[i].cells()...)
		for _, word := range all[i].remarks() {
			t.Line("    ", "      ", word)
		}
	}
	t.Write(w)
}

func (c *crossingOutput) cells() []string {
	where, share := fmt.Sprintf("%s %s -> %s %s", c.From, c.Left, c.To, c.Came), ""
	if c.Sent > 0 && c.Lost > 0 {
		share = fmt.Sprintf("%.2f %%", 100*float64(c.Lost)/float64(c.Sent))
	}
	if c.Reset {
		return []string{where, "", "", "", ""}
	}
	return []string{where, fmt.Sprint(c.Sent), fmt.Sprint(c.Arrived), fmt.Sprint(c.Lost), share}
}

// remarks lists what there is to say about a crossing: what lost packets, one per line.
func (c *crossingOutput) remarks() []string {
	switch {
	case c.Reset:
		return []string{"a counter was reset: no comparison"}
	case c.Lost < 0 && c.LostMost >= 0:
		return []string{c.withinSkew()}
	case c.Lost < 0:
		return []string{"more arrived than were sent: some came another way, or were split into more packets"}
	case c.Untold <= 0:
		return by(c.Told, c.Seen, 0)
	case c.UntoldLeast <= 0:
		return append(by(c.Told, c.Seen, 0), c.withinSkew())
	}
	words := by(c.Told, c.Seen, c.Untold)
	if c.UntoldLeast < c.Untold {
		words[len(words)-1] += fmt.Sprintf(
			", at least %d: the others may have passed while the counters were read, or wait", c.UntoldLeast)
	}
	for _, queue := range c.Unknown {
		words = append(words, "unless they wait where nobody counts them: "+queue)
	}
	return words
}

// withinSkew words that possibly no packet was lost.
func (c *crossingOutput) withinSkew() string {
	word := fmt.Sprintf("within the reading's skew: up to %d packets passed while the counters were read", c.Skew)
	if begin, end := c.Begin.Qdisc+c.Begin.Backlog+c.Begin.InHand, c.End.Qdisc+c.End.Backlog+c.End.InHand; begin+
		end > 0 {
		word += fmt.Sprintf(", and up to %d waited between the two at the beginning, %d at the end", begin, end)
	}
	return word
}

// by puts into words what lost packets; nothing where none were lost.
func by(told []lossOutput, seen []reasonOutput, untold int64) (words []string) {
	why := func(all []reasonOutput) (out []string) {
		for _, r := range all {
			at := ""
			if r.Function != "" {
				at = " at " + r.Function
			}
			out = append(out, fmt.Sprintf("%s%s %d", r.Reason, at, r.Packets))
		}
		return out
	}
	for _, l := range told {
		word := fmt.Sprintf("%s %d", l.Counter, l.Packets)
		if len(l.Why) > 0 {
			word += " (" + strings.Join(why(l.Why), ", ") + ")"
		}
		words = append(words, word)
	}
	if words = append(words, why(seen)...); untold > 0 {
		words = append(words, fmt.Sprintf("untold %d", untold))
	}
	return words
}
