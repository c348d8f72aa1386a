package http

import (
	"strings"

	"floe/fsm"
)

// anybody is the need of a call that asks for no rights.
const anybody fsm.Role = ""

// needs is the role each call needs. A test holds it to the list of calls.
var needs = map[string]fsm.Role{
	"GET /healthz":      anybody,
	"GET /readyz":       anybody,
	"GET /metrics":      anybody,
	"GET /openapi.json": anybody, // as the page's own files: it holds nothing of the cluster
	"GET /{$}":          anybody, // the page's own files hold nothing of the cluster
	"/":                 anybody, // says that there is no such call

	"GET /v1/topics":        fsm.RoleRead,
	"GET /v1/links":         fsm.RoleRead,
	"GET /v1/subscribers":   fsm.RoleRead,
	"GET /v1/graph":         fsm.RoleRead,
	"GET /v1/clusters":      fsm.RoleRead,
	"GET /v1/members":       fsm.RoleRead,
	"GET /v1/status":        fsm.RoleRead,
	"GET /v1/settings":      fsm.RoleRead,
	"GET /v1/routes":        fsm.RoleRead,
	"POST /v1/routes/check": fsm.RoleRead,
	"POST /v1/routes/diff":  fsm.RoleRead,
	"GET /v1/routes/lookup": fsm.RoleRead,
	"GET /v1/routes/relay":  fsm.RoleRead,
	"GET /v1/apps":          fsm.RoleRead,
	"GET /v1/traffic":       fsm.RoleRead,
	"GET /v1/top":           fsm.RoleRead,
	"GET /v1/history":       fsm.RoleRead,
	"GET /v1/watch":         fsm.RoleRead,
	"GET /v1/trace/topic":   fsm.RoleRead,
	"GET /v1/trace/message": fsm.RoleRead,
	"GET /v1/meids":         fsm.RoleRead,
	"GET /v1/events":        fsm.RoleRead,

	"POST /v1/events": fsm.RolePublish,

	"POST /v1/topics":        fsm.RoleOperate,
	"DELETE /v1/topics":      fsm.RoleOperate,
	"POST /v1/links":         fsm.RoleOperate,
	"DELETE /v1/links":       fsm.RoleOperate,
	"DELETE /v1/subscribers": fsm.RoleOperate,
	"POST /v1/apply":         fsm.RoleOperate,
	"POST /v1/clusters":      fsm.RoleOperate,
	"DELETE /v1/clusters":    fsm.RoleOperate,
	"POST /v1/routes":        fsm.RoleOperate,
	"POST /v1/routes/relay":  fsm.RoleOperate,
	"POST /v1/revert":        fsm.RoleOperate,
	"POST /v1/meids":         fsm.RoleOperate,
	"DELETE /v1/meids":       fsm.RoleOperate,
	"GET /v1/backup":         fsm.RoleOperate,

	"POST /v1/import/icestorm": fsm.RoleOperate,
	"POST /v1/import/rtmgr":    fsm.RoleOperate,

	"POST /v1/settings": fsm.RoleCluster,
	"POST /v1/restore":  fsm.RoleCluster,
	"POST /v1/join":     fsm.RoleCluster,
	"POST /v1/leave":    fsm.RoleCluster,
	"POST /v1/remove":   fsm.RoleCluster,
	"POST /v1/transfer": fsm.RoleCluster,
	"POST /v1/drain":    fsm.RoleCluster,
	"GET /v1/keys":      fsm.RoleCluster,
	"POST /v1/keys":     fsm.RoleCluster,
	"GET /v1/tokens":    fsm.RoleCluster,
	"POST /v1/tokens":   fsm.RoleCluster,
	"DELETE /v1/tokens": fsm.RoleCluster,
}

// needOf returns what a call needs. One that nobody thought of needs most.
func needOf(pattern string) fsm.Role {
	if strings.HasPrefix(pattern, "GET /web/") {
		return anybody
	}
	if need, listed := needs[pattern]; listed {
		return need
	}
	return fsm.RoleCluster
}

// outsideTheLog are the calls that change something, but are no change of the
// replicated state, and so are not noted with it.
var outsideTheLog = map[string]bool{
	"POST /v1/join": true, "POST /v1/leave": true, "POST /v1/remove": true, "POST /v1/transfer": true, "POST /v1/drain": true, "POST /v1/settings": true,
	"POST /v1/keys": true,
}
