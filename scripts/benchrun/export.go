package main

import "math"

// exported is the JSON of a run. Figures that don't exist are left out, as JSON has no NaN.
type exported struct {
	Machine machine       `json:"machine"`
	Sides   [2]string     `json:"sides"`
	Rounds  int           `json:"rounds"`
	Rows    []exportedRow `json:"rows"`
}

type exportedRow struct {
	Name    string             `json:"name"`
	Table   string             `json:"table"`
	Error   string             `json:"error,omitempty"`
	Samples [2][]sample        `json:"samples"` // of each side, by round
	Medians [2]sample          `json:"medians"`
	Ratios  map[metric]float64 `json:"ratios"` // first side : second side
	Targets []exportedTarget   `json:"targets"`
}

type exportedTarget struct {
	Text    string `json:"text"`
	Reached bool   `json:"reached"`
}

func (r *report) export() exported {
	out := exported{Machine: r.machine, Sides: r.names, Rounds: r.rounds, Rows: []exportedRow{}}
	for _, got := range r.results {
		out.Rows = append(out.Rows, exportRow(got))
	}
	return out
}

func exportRow(got result) exportedRow {
	out := exportedRow{Name: got.name, Table: got.table.title, Samples: got.samples, Targets: []exportedTarget{}}
	out.Medians, out.Ratios = [2]sample{{}, {}}, map[metric]float64{}
	if got.err != nil {
		out.Error = got.err.Error()
	}
	for _, m := range got.table.metrics {
		setNumber(out.Medians[0], m, got.floe(m))
		setNumber(out.Medians[1], m, got.iceStorm(m))
		setNumber(out.Ratios, m, got.ratio(m))
	}
	for _, t := range got.targets {
		out.Targets = append(out.Targets, exportedTarget{t.String(), t.reached(got)})
	}
	return out
}

func setNumber(to map[metric]float64, m metric, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		to[m] = v
	}
}
