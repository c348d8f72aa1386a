package main

import (
	"cmp"
	"slices"
	"strconv"

	"floe/fsm"
	"floe/transport/rmr/manager"
	"floe/transport/rmr/relay"
)

// mostEndpoints, mostRoutes and mostApps bound the endpoints, routes and apps
// that have figures of their own; endpoints and routes beyond are summed up
// under empty names.
const (
	mostEndpoints = 1000
	mostRoutes    = 1000
	mostApps      = 10_000
)

var (
	messagesOffered   = counter("floe_messages_offered_total", "RMR messages offered to receivers, counted per message and receiver.")
	messagesDelivered = counter("floe_messages_delivered_total", "RMR messages delivered: written to their endpoint, or published on a topic.")
	messagesDropped   = counter("floe_messages_dropped_total", "RMR messages dropped, by reason.", "reason")
	messagesQueued    = gauge("floe_messages_queued", "RMR messages that wait for an endpoint or are being written.")
	messagesPublished = counter("floe_messages_published_total", "RMR messages that went to topics.")

	messagesReceived = counter("floe_messages_received_total", "RMR messages that came, by listener.", "listener")
	routeMessages    = counter("floe_route_messages_total", "RMR messages that went by the entries of a type and subscription id.", "mtype", "subid")

	endpointConnected = gauge("floe_endpoint_connected", "1 while there is a connection to an endpoint.", "endpoint")
	badAnswers        = counter("floe_endpoint_bad_input_total", "Connections to endpoints that were closed for what came on them.")
	endpointOffered   = counter("floe_endpoint_offered_total", "RMR messages offered to an endpoint.", "endpoint")
	endpointDelivered = counter("floe_endpoint_delivered_total", "RMR messages delivered to an endpoint.", "endpoint")
	endpointDropped   = counter("floe_endpoint_dropped_total", "RMR messages of an endpoint that were dropped, for any reason.", "endpoint")
	endpointQueued    = gauge("floe_endpoint_queued", "RMR messages that wait for an endpoint or are being written.", "endpoint")
	endpointBytes     = gauge("floe_endpoint_queued_bytes", "Bytes of the RMR messages that wait for an endpoint.", "endpoint")
	endpointDead      = gauge("floe_endpoint_dead", "1 for an endpoint that groups pass over for now.", "endpoint")

	alarmsRaised = counter("floe_app_alarms_total", "Alarms by which an RMR app said that it drops messages.", "app")
	alarmStands  = gauge("floe_app_alarm", "1 while an RMR app says that it drops messages.", "app")

	tableVersion = gauge("floe_table_version", "Version of what RMR apps are sent: Raft index of the last change of it.")
	appsCount    = gauge("floe_apps", "RMR apps that asked for a route table.")
	appAcked     = gauge("floe_app_version_acked", "Table version an app acknowledged, as far as the nodes agreed on it.", "app")
	appSent      = gauge("floe_app_version_sent", "Table version an app that this node serves was sent last.", "app")
	appAnswered  = gauge("floe_app_version_answered", "Table version an app that this node serves acknowledged last.", "app")
	appAge       = gauge("floe_app_age_seconds", "How long ago an app that this node serves acknowledged or, if it never did, asked.", "app")
	appFailing   = gauge("floe_app_failing", "1 where the last thing that happened with an app that this node serves was an error.", "app")
	withdrawn    = gauge("floe_endpoints_withdrawn", "Members of groups that two nodes found dead.")
	nodesOut     = gauge("floe_nodes_out", "Nodes that serve no apps, as they were found dead.")
)

// messageFigures are those of the relay, and of the messages it handed over
// that became no event after all.
type messageFigures struct {
	relay.Stats
	noTopic, tooLarge uint64
}

// messageFigures takes those of the bridge first: what they count, the relay
// has counted as delivered by then.
func (n *node) messageFigures() messageFigures {
	f := messageFigures{noTopic: n.bridge.noTopic.Load(), tooLarge: n.bridge.tooLarge.Load()}
	f.Stats = n.relay.Stats()
	return f
}

// messages adds them. At each scrape offered = delivered + dropped + queued.
func (s samples) messages(stats messageFigures) {
	s.put(messagesOffered, float64(stats.Total.Offered))
	s.put(messagesDelivered, float64(stats.Total.Delivered-stats.noTopic-stats.tooLarge))
	s.put(messagesDropped, float64(stats.noTopic), "no_topic")
	s.put(messagesDropped, float64(stats.tooLarge), "too_large")
	s.put(messagesQueued, float64(stats.Total.Queued))
	s.put(messagesPublished, float64(stats.Published))
	s.put(badAnswers, float64(stats.BadAnswers))
	s.routes(stats.Routes)
	for _, reason := range relay.Reasons() {
		s.put(messagesDropped, float64(stats.Total.Dropped[reason]), reason.String())
	}
	for _, a := range stats.Alarms {
		s.put(alarmsRaised, float64(a.Times), a.Source)
		s.put(alarmStands, yesNo(a.Raised), a.Source)
	}
	slices.SortFunc(stats.Endpoints, func(a, b relay.EndpointStats) int {
		return cmp.Or(cmp.Compare(b.Queued+b.Lost(), a.Queued+a.Lost()), cmp.Compare(a.Name, b.Name))
	})
	var rest relay.EndpointStats
	for i, e := range stats.Endpoints {
		if i < mostEndpoints {
			s.endpoint(&e)
			continue
		}
		rest.Offered += e.Offered
		rest.Delivered += e.Delivered
		rest.Dropped[relay.QueueFull] += e.Lost()
		rest.Queued += e.Queued
		rest.QueuedBytes += e.QueuedBytes
	}
	if len(stats.Endpoints) > mostEndpoints {
		s.endpoint(&rest)
	}
}

// routes adds what went by routes, the busiest first.
func (s samples) routes(all []relay.RouteStats) {
	slices.SortStableFunc(all, func(a, b relay.RouteStats) int { return cmp.Compare(b.Messages, a.Messages) })
	var rest uint64
	for i, r := range all {
		if i < mostRoutes {
			s.put(routeMessages, float64(r.Messages), strconv.Itoa(int(r.MType)), strconv.Itoa(int(r.SubID)))
			continue
		}
		rest += r.Messages
	}
	if len(all) > mostRoutes {
		s.put(routeMessages, float64(rest), "", "")
	}
}

func (s samples) endpoint(e *relay.EndpointStats) {
	s.put(endpointOffered, float64(e.Offered), e.Name)
	s.put(endpointDelivered, float64(e.Delivered), e.Name)
	s.put(endpointDropped, float64(e.Lost()), e.Name)
	s.put(endpointQueued, float64(e.Queued), e.Name)
	s.put(endpointBytes, float64(e.QueuedBytes), e.Name)
	if e.Name != "" { // the sum of the others has no state
		s.put(endpointDead, yesNo(e.Dead), e.Name)
		s.put(endpointConnected, yesNo(e.Connected), e.Name)
	}
}

// apps adds what the state knows of apps, and what this node knows of those
// it serves.
func (s samples) apps(v *fsm.View, served []manager.AppStatus) {
	for _, a := range served[:min(len(served), mostApps)] {
		s.put(appSent, float64(a.VersionSent), a.Name)
		s.put(appAnswered, float64(a.VersionAcked), a.Name)
		s.put(appAge, a.AgeSeconds, a.Name)
		s.put(appFailing, yesNo(a.Error != ""), a.Name)
	}
	s.put(tableVersion, float64(v.TableVersion()))
	s.put(appsCount, float64(len(v.Apps)))
	s.put(withdrawn, float64(len(v.Distribution.Dead)))
	s.put(nodesOut, float64(len(v.Distribution.Out)))
	for i := range min(len(v.Apps), mostApps) {
		s.put(appAcked, float64(v.Apps[i].Acked), v.Apps[i].Name)
	}
}
