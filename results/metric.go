package results

import "strings"

// Metrics whose words in capitals reports ask for.
const (
	MetricIdleState    = "cpuidle_cpuN_STATE_cores" // time in an idle state
	MetricGHz          = "pmu_cpuN_ghz"             // the frequency while not idle
	MetricForeignCores = "foreign_cpuN_low_cores"   // load of others, at least
)

// Named is the metric's name with the words of Of in it.
func (m *Metric) Named() string {
	if len(m.Of) == 0 {
		return m.Name
	}
	var b strings.Builder
	left := m.Of
	for rest := m.Name; ; {
		from := strings.IndexFunc(rest, capital)
		if from < 0 || len(left) == 0 {
			return b.String() + rest
		}
		b.WriteString(rest[:from] + left[0])
		rest, left = strings.TrimLeftFunc(rest[from:], capital), left[1:]
	}
}

func capital(c rune) bool { return c >= 'A' && c <= 'Z' }

// Rows are the host's rows of metrics.csv, also those of what probes saw.
func (h *Host) Rows() []Metric {
	out := make([]Metric, 0, len(h.Metrics))
	for _, m := range append(h.Metrics[:len(h.Metrics):len(h.Metrics)], h.Probes.rows()...) {
		m.Name, m.Of = m.Named(), nil
		out = append(out, m)
	}
	return out
}
