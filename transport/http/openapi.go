package http

import (
	_ "embed"
	"net/http"
)

// openAPI describes the calls for programs. A test makes it of the calls'
// list in docs/http.md, of the types in package api, and of the handlers.
//
//go:embed openapi.json
var openAPI []byte

// describe returns the description of all calls, an OpenAPI 3.1 document.
func (s *Server) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // the client is gone if this fails
}
