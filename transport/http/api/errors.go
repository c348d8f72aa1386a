package api

import (
	"cmp"
	"net/http"
)

// Kind says what an error is about, in a word that programs can act on. The
// words never change.
type Kind string

// The kinds of error.
const (
	BadRequest     Kind = "bad_request"
	InvalidName    Kind = "invalid_name"
	TooLarge       Kind = "too_large"
	NotFound       Kind = "not_found"
	MethodUnknown  Kind = "method_not_allowed"
	Unauthorized   Kind = "unauthorized"
	Forbidden      Kind = "forbidden"
	TopicExists    Kind = "topic_exists"
	NoSuchTopic    Kind = "no_such_topic"
	LinkExists     Kind = "link_exists"
	NoSuchLink     Kind = "no_such_link"
	Subscribed     Kind = "already_subscribed"
	NoSubscriber   Kind = "no_such_subscriber"
	Limit          Kind = "limit_reached"
	NoSuchCluster  Kind = "no_such_cluster"
	ClusterNamed   Kind = "cluster_named"
	OtherCluster   Kind = "other_cluster"
	InUse          Kind = "in_use"
	Version        Kind = "cluster_version"
	Stale          Kind = "stale_incarnation"
	Membership     Kind = "membership"
	NoSuchNode     Kind = "no_such_node"
	NoSuchMEID     Kind = "no_such_meid"
	TokenExists    Kind = "token_exists"
	NoSuchToken    Kind = "no_such_token"
	QuorumAtRisk   Kind = "would_lose_quorum"
	Changed        Kind = "changed_meanwhile"
	NotBuilt       Kind = "later_version"
	Cancelled      Kind = "cancelled"
	Internal       Kind = "internal"
	UnknownOutcome Kind = "unknown_outcome"
	NoQuorum       Kind = "no_quorum"
	NotReady       Kind = "not_ready"
	NoSpace        Kind = "no_space"
	Timeout        Kind = "timeout"
	Unreachable    Kind = "unreachable"
)

// Exit codes of the program floe.
const (
	ExitDone        = 0
	ExitRefused     = 1
	ExitUsage       = 2
	ExitUnknown     = 3
	ExitUnreachable = 4
	ExitNoSpace     = 5
	// ExitStorage is that of a node with --on-storage-error=exit.
	ExitStorage = 6
)

// meaning is what a kind stands for on the wire and in a shell.
type meaning struct{ status, exit int }

var meanings = map[Kind]meaning{
	BadRequest:     {http.StatusBadRequest, ExitRefused},
	InvalidName:    {http.StatusBadRequest, ExitRefused},
	TooLarge:       {http.StatusRequestEntityTooLarge, ExitRefused},
	NotFound:       {http.StatusNotFound, ExitRefused},
	MethodUnknown:  {http.StatusMethodNotAllowed, ExitRefused},
	Unauthorized:   {http.StatusUnauthorized, ExitRefused},
	Forbidden:      {http.StatusForbidden, ExitRefused},
	TopicExists:    {http.StatusConflict, ExitRefused},
	NoSuchTopic:    {http.StatusNotFound, ExitRefused},
	LinkExists:     {http.StatusConflict, ExitRefused},
	NoSuchLink:     {http.StatusNotFound, ExitRefused},
	Subscribed:     {http.StatusConflict, ExitRefused},
	NoSubscriber:   {http.StatusNotFound, ExitRefused},
	Limit:          {http.StatusConflict, ExitRefused},
	NoSuchCluster:  {http.StatusNotFound, ExitRefused},
	ClusterNamed:   {http.StatusConflict, ExitRefused},
	OtherCluster:   {http.StatusConflict, ExitRefused},
	InUse:          {http.StatusConflict, ExitRefused},
	Version:        {http.StatusConflict, ExitRefused},
	Stale:          {http.StatusConflict, ExitRefused},
	Membership:     {http.StatusConflict, ExitRefused},
	NoSuchNode:     {http.StatusNotFound, ExitRefused},
	TokenExists:    {http.StatusConflict, ExitRefused},
	NoSuchToken:    {http.StatusNotFound, ExitRefused},
	NoSuchMEID:     {http.StatusNotFound, ExitRefused},
	QuorumAtRisk:   {http.StatusConflict, ExitRefused},
	Changed:        {http.StatusConflict, ExitRefused},
	NotBuilt:       {http.StatusNotImplemented, ExitRefused},
	Cancelled:      {499, ExitRefused}, // the client went away; nobody reads the answer
	Internal:       {http.StatusInternalServerError, ExitRefused},
	UnknownOutcome: {http.StatusGatewayTimeout, ExitUnknown},
	NoQuorum:       {http.StatusServiceUnavailable, ExitUnreachable},
	NotReady:       {http.StatusServiceUnavailable, ExitUnreachable},
	NoSpace:        {http.StatusInsufficientStorage, ExitNoSpace},
	Timeout:        {http.StatusServiceUnavailable, ExitUnreachable},
	Unreachable:    {http.StatusBadGateway, ExitUnreachable},
}

// Status returns the HTTP status of a kind; 500 for one this program does not know.
func (k Kind) Status() int { return cmp.Or(meanings[k].status, http.StatusInternalServerError) }

// Exit returns the exit code of a kind; 1 for one this program does not know.
func (k Kind) Exit() int { return cmp.Or(meanings[k].exit, ExitRefused) }

// Error is an error as it travels.
type Error struct {
	// Kind is for programs.
	Kind Kind `json:"kind"`
	// Message is for people: one line.
	Message string `json:"message"`
	// Line is the line of a script the error is about, 0 where there is none.
	Line int `json:"line,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// ErrorBody is the body of every answer that is not 2xx.
type ErrorBody struct {
	Error *Error `json:"error"`
}

// Known tells whether this program knows the kind.
func (k Kind) Known() bool { _, known := meanings[k]; return known }
