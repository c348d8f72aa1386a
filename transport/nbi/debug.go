package nbi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"floe/routing"
	"floe/routing/derive"
)

// debugInfo is the answer that the robot tests of the RIC read.
type debugInfo struct {
	RouteTable   []string `json:"RouteTable"`   // one record each, with its newline
	RouteConfigs string   `json:"RouteConfigs"` // routeConfigs as JSON
}

// routeConfigs has the old manager's names.
type routeConfigs struct {
	XApps   []derive.XApp
	E2Ts    map[string]e2tInfo
	MeidMap []string
	Pcs     []derive.Component
}

type e2tInfo struct {
	Name    string   `json:"name"`
	FQDN    string   `json:"fqdn"`
	RANList []string `json:"ranlist"`
}

// debugInfo shows the table that programs get, and the facts it follows from.
func (s *Server) debugInfo(w http.ResponseWriter, _ *http.Request) error {
	v := s.config.Group.View()
	f := v.Routes.Facts
	configs := routeConfigs{XApps: f.XApps(), E2Ts: map[string]e2tInfo{}, MeidMap: []string{}, Pcs: f.Config().Components}
	for _, t := range f.E2Ts() {
		configs.E2Ts[t.Address] = e2tInfo{Name: "E2TERMINST", FQDN: t.Address, RANList: append([]string{}, t.RANs...)}
		if len(t.RANs) > 0 {
			configs.MeidMap = append(configs.MeidMap, "mme_ar|"+t.Address+"|"+strings.Join(t.RANs, " "))
		}
	}
	text, err := json.MarshalIndent(configs, "", "")
	if err != nil {
		return err
	}
	setVersion(w, v.TableVersion())
	writeJSON(w, http.StatusOK, debugInfo{RouteTable: tableLines(v.Routes.State()), RouteConfigs: string(text)})
	return nil
}

// tableLines returns a table as the old manager shows it: an MEID a record,
// and no count of routes.
func tableLines(state routing.State) []string {
	lines := []string{"newrt|start\n"}
	for e := range state.Table.All() {
		lines = append(lines, e.String()+"\n")
	}
	lines = append(lines, "newrt|end\n", "meid_map|start\n")
	for meid, owner := range state.MEIDs.Sorted() {
		lines = append(lines, "mme_ar|"+owner+"|"+meid+"\n")
	}
	return append(lines, fmt.Sprintf("meid_map|end|%d\n", state.MEIDs.Len()))
}
