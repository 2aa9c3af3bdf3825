// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/units"
	"github.com/zcbench/zcbench/plan"
)

// row is one line of runs.csv: one host's half of a run.
type row struct {
	rec  *Record
	role ends.Role
	host *Host
}

// column is one column of runs.csv: how a row's field is written and read.
type column struct {
	name string
	get  func(*row) string
	set  func(*row, string) error
}

// columns are those of runs.csv in their order. The order up to tool_version
// is a contract: new columns go to the end.
var columns = withOptions(slices.Concat([]column{
	intCol("schema_version", func(r *row) *int { return &r.rec.Schema }),
	textCol("run_id", func(r *row) *string { return &r.rec.RunID }),
	textCol("cell_id", func(r *row) *string { return &r.rec.Cell.ID }),
	textCol("session_id", func(r *row) *string { return &r.rec.SessionID }),
	intCol("block", func(r *row) *int { return &r.rec.Block }),
	intCol("seq", func(r *row) *int { return &r.rec.Seq }),
	intCol("rep", func(r *row) *int { return &r.rec.Rep }),
	{"warmup", func(r *row) string { return strconv.FormatBool(r.rec.Warmup) }, setWarmup},
	{"host", hostLabel, setHost},
	{"role", func(r *row) string { return string(r.role) }, setRole},
	chosen("rx_mode"),
	chosen("tx_mode"),
	chosen("gro"),
	chosen("hw_gro"),
	chosen("big_tcp_bytes"),
	chosen("cpu_layout"),
	chosen("rx_buf_len"),
	chosen("mtu"),
	chosen("message_bytes"),
	{"start_utc_ns", getStart, setStart},
	floatCol("duration_s", func(r *row) **float64 { return &r.host.DurationS }),
	countCol("bytes", func(r *row) **uint64 { return &r.host.Bytes }),
	floatCol("throughput_gbps", func(r *row) **float64 { return &r.host.ThroughputGbps }),
	floatCol("cpu_app_cores", func(r *row) **float64 { return &r.host.CPUAppCores }),
	floatCol("cpu_sys_cores", func(r *row) **float64 { return &r.host.CPUSysCores }),
	floatCol("cpu_soft_cores", func(r *row) **float64 { return &r.host.CPUSoftCores }),
	floatCol("cpu_busy_cores", func(r *row) **float64 { return &r.host.CPUBusyCores }),
	floatCol("iowait_cores", func(r *row) **float64 { return &r.host.IOWaitCores }),
	floatCol("stat_coverage", func(r *row) **float64 { return &r.host.StatCoverage }),
	floatCol("power_w", func(r *row) **float64 { return &r.host.PowerW }),
	floatCol("power_idle_w", func(r *row) **float64 { return &r.host.PowerIdleW }),
	textCol("power_source", func(r *row) *string { return &r.host.PowerSource }),
	computedCol("roi_cpu", (*Host).ROICPU),
	computedCol("roi_power", (*Host).ROIPower),
	computedCol("ns_per_kb", (*Host).NsPerKB),
	computedCol("joule_per_gb", (*Host).JoulePerGB),
	countCol("zero_copy_bytes", func(r *row) **uint64 { return &r.host.ZeroCopyBytes }),
	countCol("copied_bytes", func(r *row) **uint64 { return &r.host.CopiedBytes }),
	countCol("linear_bytes", func(r *row) **uint64 { return &r.host.LinearBytes }),
	countCol("mismatches", func(r *row) **uint64 { return &r.host.Mismatches }),
	countCol("retrans", func(r *row) **uint64 { return &r.host.Retrans }),
	countCol("rx_drops", func(r *row) **uint64 { return &r.host.RXDrops }),
	{"verdict", func(r *row) string { return string(r.rec.Verdict) }, setVerdict},
	textCol("reason", func(r *row) *string { return &r.rec.Reason }),
	listCol("flags", func(r *row) *[]string { return &r.rec.Flags }),

	textCol("kernel", func(r *row) *string { return &r.host.Env.Kernel }),
	textCol("driver", func(r *row) *string { return &r.host.Env.Driver }),
	textCol("firmware", func(r *row) *string { return &r.host.Env.Firmware }),
	textCol("cpu_model", func(r *row) *string { return &r.host.Env.CPUModel }),
	textCol("governor", func(r *row) *string { return &r.host.Env.Governor }),
	textCol("mitigations", func(r *row) *string { return &r.host.Env.Mitigations }),
	textCol("irq_cpu", func(r *row) *string { return &r.host.Env.IRQCPU }),
	textCol("app_cpu", func(r *row) *string { return &r.host.Env.AppCPU }),
	textCol("tool_version", func(r *row) *string { return &r.host.Env.ToolVersion }),

	textCol("hostname", func(r *row) *string { return &r.host.Env.Hostname }),
	textCol("boot_id", func(r *row) *string { return &r.host.Env.BootID }),
	textCol("dev", func(r *row) *string { return &r.host.Env.Dev }),
	foundCol("cpus", func(r *row) *int { return &r.host.Env.CPUs }),
	textCol("cpus_measured", func(r *row) *string { return &r.host.Env.CPUsMeasured }),
	textCol("congestion", func(r *row) *string { return &r.host.Env.Congestion }),
	textCol("go_version", func(r *row) *string { return &r.host.Env.GoVersion }),
	chosen("congestion_asked"),
	chosen("read_bytes"),
	chosen("touch"),
	countCol("total_bytes", func(r *row) **uint64 { return &r.host.TotalBytes }),
	textCol("fix", func(r *row) *string { return &r.rec.Fix }),
	listCol("warnings", func(r *row) *[]string { return &r.rec.Warnings }),
	textCol("uring_engine", func(r *row) *string { return &r.host.Env.UringEngine }),
	chosen("tg_big_tcp_bytes"),
	chosen("token_batch"),
	floatCol("cpu_mhz", func(r *row) **float64 { return &r.host.CPUMHz }),
	floatCol("cpu_temp_c", func(r *row) **float64 { return &r.host.CPUTempC }),
	textCol("source", func(r *row) *string { return &r.rec.Source }),
	totalCol("roi_cpu_total", CostCPU),
	totalCol("roi_power_total", CostPower),
	chosen("probe"),
	textCol("power_scope", func(r *row) *string { return &r.host.PowerScope }),
	chosen("control"),
	{"expected", func(r *row) string { return yes(r.rec.Expected) },
		func(r *row, s string) (err error) { r.rec.Expected, err = readYes(s); return err }},
	chosen("probe_sample"),
	chosen("rcvbuf_bytes"),
	chosen("sndbuf_bytes"),
	chosen("pace_bits_ps"),
	chosen("uring_engine_asked"),
	chosen("gather_us"),
	chosen("queue"),
	chosen("steer_queue"),
	chosen("area"),
	chosen("area_bytes"),
	chosen("refill_entries"),
	chosen("cq_entries"),
	chosen("hold_bytes"),
	chosen("rx_ring"),
	chosen("tx_ring"),
	chosen("channels"),
	chosen("set"),
	chosen("sysctl_profile"),
	chosen("hugepages"),
	chosen("governor_asked"),
	chosen("max_idle_us"),
	chosen("stop_irqbalance"),
}, []column{
	{"limit", func(r *row) string { return string(r.rec.Limit) }, func(r *row, s string) (err error) {
		r.rec.Limit,
			err = readLimit(s)
		return err
	}},
	{"gate", func(r *row) string { return string(r.rec.Gate) }, func(r *row, s string) (err error) {
		r.rec.Gate,
			err = readGate(s)
		return err
	}},
	chosen("tg_cpu_layout"),
	chosen("rx_buffer_bytes"),
	textCol("environment", func(r *row) *string { return &r.host.Env.Environment }),
}, uncertaintyColumns(), []column{paceAsked, chosen("header_split"),
	floatCol("flow_mhz", func(r *row) **float64 { return &r.host.FlowMHz }),
	floatCol("cycles_per_byte", func(r *row) **float64 { return &r.host.CyclesPerByte }),
	deliveryCol("p50"), deliveryCol("p99"), deliveryCol("p999"), chosen("flows"), chosen("queues"),
	textCol("upper", func(r *row) *string { return &r.host.Env.Upper }), deliveryClockCol(),
	floatCol("packets_per_s", func(r *row) **float64 { return &r.host.PacketsPerS }),
	computedCol("ns_per_packet", (*Host).NsPerPacket),
	chosen("udp_batch"), chosen("udp_segmentation"),
	chosen("xdp_touch"), chosen("xdp_attach"), chosen("xdp_redirect"), chosen("tuples"), chosen("burst")},
	tripColumns(), []column{chosen("generator_cpus"), chosen("rr_timeout_us"), chosen("path"),
		foundCol("threads", func(r *row) *int { return &r.host.Threads })}, lossFreeColumns(), []column{
		textCol("cpu_class", func(r *row) *string { return &r.host.Env.CPUClass }), chosen("turn"),
		foundCol("start", func(r *row) *int { return &r.rec.Start }), turnsCol(), chosen("tx_area"),
		floatCol("instructions_per_kb", func(r *row) **float64 { return &r.host.InstructionsPerKB }),
		floatCol("ipc", func(r *row) **float64 { return &r.host.IPC }),
		floatCol("llc_misses_per_kb", func(r *row) **float64 { return &r.host.LLCMissesPerKB }),
		floatCol("dram_bytes_per_byte", func(r *row) **float64 { return &r.host.DRAMPerByte }),
		floatCol("mbm_bytes_per_byte", func(r *row) **float64 { return &r.host.MBMPerByte }),
		chosen("fastopen"), chosen("steer"), chosen("object_bytes"),
		chosen("every_us"), chosen("fan_in"),
		countCol("objects", func(r *row) **uint64 { return &r.host.Objects }),
		countCol("objects_late", func(r *row) **uint64 { return &r.host.ObjectsLate }),
		chosen("queue_rings"), chosen("rings_in"), chosen("area_start_bytes"),
		chosen("lease_queue")}, wayColumns("both", "back_", func(h *Host) **Way { return &h.Back }),
	wayColumns("then", "then_", func(h *Host) **Way { return &h.Then }),
	[]column{chosen("poll")}, polledColumns(), []column{chosen("tls"), backTransactions()}))

// withOptions adds the columns of options that have none yet, at the end: the places of those
// before are a contract.
func withOptions(all []column) []column {
	for i := range plan.Options {
		name := plan.Options[i].ColumnName()
		if !slices.ContainsFunc(all, func(c column) bool { return c.name == name }) {
			all = append(all, chosen(name))
		}
	}
	return all
}

// chosen makes the column of an option: empty where nothing was chosen.
func chosen(name string) column {
	i := slices.IndexFunc(plan.Options, func(o plan.Option) bool { return o.ColumnName() == name })
	o := &plan.Options[i]
	return optional(column{name,
		func(r *row) string { return CSVText(o.ColumnText(&r.rec.Cell)) },
		func(r *row, s string) error { return o.Load(&r.rec.Cell, asIs(s)) }})
}

// yes formats true as "true" and false as an empty field.
func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func readYes(s string) (bool, error) {
	if s == "" {
		return false, nil
	}
	return parseBool(s)
}

func readLimit(s string) (plan.LimitedBy, error) {
	if l := plan.LimitedBy(s); s == "" || slices.Contains(plan.LimitedBys, l) {
		return l, nil
	}
	return "", fmt.Errorf("%q is not a limit of a run: want one of %v", s, plan.LimitedBys)
}

func textCol(name string, at func(*row) *string) column {
	return column{name,
		func(r *row) string { return CSVText(*at(r)) },
		func(r *row, s string) error { *at(r) = asIs(s); return nil }}
}

// intCol makes a column of a number that is always there.
func intCol(name string, at func(*row) *int) column {
	return column{name,
		func(r *row) string { return strconv.Itoa(*at(r)) },
		func(r *row, s string) (err error) { *at(r), err = units.ParseInt(s); return err }}
}

// foundCol makes a column of a number that is left empty at zero, which means "left as found" or
// "unknown".
func foundCol(name string, at func(*row) *int) column {
	c := intCol(name, at)
	get := c.get
	c.get = func(r *row) string {
		if *at(r) == 0 {
			return ""
		}
		return get(r)
	}
	return optional(c)
}

func floatCol(name string, at func(*row) **float64) column {
	return optional(column{name,
		func(r *row) string { return formatFloat(*at(r)) },
		func(r *row, s string) error {
			v, err := parseFloat(s)
			*at(r) = &v
			return err
		}})
}

func parseCount(s string, to **uint64) error {
	v, err := strconv.ParseUint(s, 10, 64)
	*to = &v
	return units.NumError(s, "a whole number from 0", err)
}

func countCol(name string, at func(*row) **uint64) column {
	return optional(column{name,
		func(r *row) string {
			if *at(r) == nil {
				return ""
			}
			return strconv.FormatUint(**at(r), 10)
		},
		func(r *row, s string) error { return parseCount(s, at(r)) }})
}

// computedCol follows from other columns; it is checked when read and not kept.
func computedCol(name string, f func(*Host) *float64) column {
	return optional(column{name,
		func(r *row) string { return formatFloat(f(r.host)) },
		func(_ *row, s string) error { _, err := parseFloat(s); return err }})
}

// totalCol makes a column of the return on both ends' cost together, the same in both rows.
func totalCol(name string, cost Cost) column {
	return recordCol(name, func(r *row) *float64 { return r.rec.ROI(Total, cost, 2, 1) })
}

// recordCol follows from the columns of both rows.
func recordCol(name string, f func(*row) *float64) column {
	return optional(column{name,
		func(r *row) string { return formatFloat(f(r)) },
		func(_ *row, s string) error { _, err := parseFloat(s); return err }})
}

func listCol(name string, at func(*row) *[]string) column {
	return column{name,
		func(r *row) string { return joinList(*at(r)) },
		func(r *row, s string) error { *at(r) = splitList(s); return nil }}
}

// optional makes an empty field leave the record as it is: not measured.
func optional(c column) column {
	set := c.set
	c.set = func(r *row, s string) error {
		if s == "" {
			return nil
		}
		return set(r, s)
	}
	return c
}

func setWarmup(r *row, s string) (err error) {
	r.rec.Warmup, err = parseBool(s)
	return err
}

func setRole(r *row, s string) error {
	r.role = ends.Role(s)
	if r.role != ends.SUT && r.role != ends.TG {
		return fmt.Errorf("%q is not sut or tg", s)
	}
	return nil
}

func setVerdict(r *row, s string) error {
	r.rec.Verdict = Verdict(s)
	return r.rec.Verdict.validate()
}

func getStart(r *row) string {
	if r.rec.StartUTCNs == 0 {
		return ""
	}
	return strconv.FormatInt(r.rec.StartUTCNs, 10)
}

func setStart(r *row, s string) (err error) {
	if s == "" {
		return nil
	}
	r.rec.StartUTCNs, err = strconv.ParseInt(s, 10, 64)
	return units.NumError(s, "a whole number", err)
}

// hostLabel names a host so that run_id and host together are unique: a run
// between two ends of the same name gets the role appended.
func hostLabel(r *row) string {
	return CSVText(hostName(r.rec, r.role))
}

func hostName(rec *Record, role ends.Role) string {
	name, other := oneLine(rec.SUT.Name), oneLine(rec.TG.Name)
	if role == ends.TG {
		name, other = other, name
	}
	if name == other || trimRole(name, role) != name {
		return name + "#" + string(role)
	}
	return name
}

// setHost keeps the label; the role, which comes later, tells what to cut off.
func setHost(r *row, s string) error {
	r.host.Name = asIs(s)
	return nil
}

func trimRole(name string, role ends.Role) string {
	return strings.TrimSuffix(name, "#"+string(role))
}

// oneLine keeps a row a line: scripts that read CSV by lines are many. What a terminal
// obeys instead of showing becomes a space too. The journal has the text as it was.
func oneLine(s string) string {
	if plaintext.IsASCII(s) {
		return s
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || !plaintext.Safe(c) {
			return ' '
		}
		return c
	}, s)
}

var listEscape = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

// joinList writes a list as a;b with \; and \\ for those characters in a word.
func joinList(words []string) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, listEscape.Replace(CSVText(w)))
		}
	}
	return strings.Join(out, ";")
}

func splitList(s string) []string {
	var out []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			out = append(out, asIs(word.String()))
		}
		word.Reset()
	}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			word.WriteByte(s[i])
		case s[i] == ';':
			end()
		default:
			word.WriteByte(s[i])
		}
	}
	end()
	return out
}

// formatFloat writes the shortest text that reads back as the same number.
func formatFloat(v *float64) string {
	if v == nil || finite(*v) == nil {
		return ""
	}
	format := byte('f')
	if a := math.Abs(*v); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.FormatFloat(*v, format, -1, 64)
}

func parseFloat(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	// Go also takes 0x1p4, inf and nan: no measurement is written like that.
	if err == nil && strings.Trim(s, "0123456789.eE+-") != "" {
		err = strconv.ErrSyntax
	}
	return v, units.NumError(s, "a number", err)
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, fmt.Errorf("%q is not true or false", s)
	}
	return s == "true", nil
}
