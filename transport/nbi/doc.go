// Package nbi is the face of the old route manager of a RIC: the REST calls
// by which e2mgr, submgr and appmgr tell it which E2 terminations, RANs,
// subscriptions and xApps there are, under /ric/v1 on port 3800, and the
// questions that it asks them ([Sources]). What they say becomes facts of
// the replicated state, and routes follow from those by the rules of package
// derive.
//
// Any node may be called. A call is answered with 2xx once the cluster has
// committed it, within the time its caller waits, else with 503 and the
// reason. The face keeps nothing: what it knows is the state.
package nbi
