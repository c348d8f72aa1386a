package ice

import (
	"context"

	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// finderType is IceStorm/Finder, where icestormadmin with nothing but a host
// and port learns of the topic manager.
var finderType = &server.Interface[*Face]{
	IDs: []string{"::Ice::Object", "::IceStorm::Finder"},
	ID:  "::IceStorm::Finder",
	Operations: map[string]server.Operation[*Face]{
		"getTopicManager": {Mode: proto.ModeNormal, Inline: true, Do: (*Face).getTopicManager},
	},
}

func (f *Face) getTopicManager(_ context.Context, c *server.Call) error {
	return returnProxy(c, f.callProxy(f.group.View(), managerName))
}
