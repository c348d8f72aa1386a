package http

import (
	"context"
	"net/http"

	"floe/fsm"
	"floe/topics"
	"floe/transport/http/api"
	"floe/transport/ice/proto"
)

// listSubscribers answers with the subscribers and links of the named
// topics, or of all, and with this node's figures of each.
func (s *Server) listSubscribers(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	out, figures := []api.Subscriber{}, s.figures()
	names, named := r.URL.Query()["topic"]
	if !named {
		for t := range v.Graph.All() {
			out = topicSubscribers(out, v, t, figures)
		}
		return out, nil
	}
	for _, name := range names {
		t := v.Graph.Topic(name)
		if t == nil {
			return nil, noTopic(name)
		}
		out = topicSubscribers(out, v, t, figures)
	}
	return out, nil
}

func topicSubscribers(out []api.Subscriber, v *fsm.View, t *topics.Topic, figures receiverFigures) []api.Subscriber {
	for _, sub := range t.Subscriptions {
		out = append(out, api.Subscriber{
			Topic:    t.Name,
			Identity: identityText(sub.Identity),
			Proxy:    proxyText(sub.Proxy),
			QoS:      qosValues(sub.QoS),
			Serial:   sub.Serial,
			Figures:  figures.receiver(t, sub.Serial),
		})
	}
	for _, l := range t.Links {
		link := api.Subscriber{
			Topic:     t.Name,
			Identity:  identityText(v.Graph.TargetIdentity(l)),
			Link:      true,
			Serial:    l.Serial,
			Forwarded: figures.passed(t, l.Serial),
		}
		if l.Remote != nil {
			link.Figures = figures.receiver(t, l.Serial)
		}
		out = append(out, link)
	}
	return out
}

// proxyText is a stored proxy in Ice's own form, empty where it can't be read.
func proxyText(b []byte) string {
	d := proto.NewDecoder(b, proto.Encoding11)
	p := d.Proxy()
	if d.Err() != nil || p.IsNull() {
		return ""
	}
	return p.String()
}

func qosValues(settings []topics.Setting) map[string]string {
	if len(settings) == 0 {
		return nil
	}
	out := make(map[string]string, len(settings))
	for _, q := range settings {
		out[q.Key] = q.Value
	}
	return out
}

func (s *Server) unsubscribe(ctx context.Context, r *http.Request) (any, error) {
	topic, err := param(r, "topic")
	if err != nil {
		return nil, err
	}
	text, err := param(r, "identity")
	if err != nil {
		return nil, err
	}
	id, err := proto.ParseIdentity(text)
	if err != nil {
		return nil, refuse(api.BadRequest, err.Error())
	}
	result, err := s.propose(ctx, r, fsm.Unsubscribe{Topic: topic, Identity: topics.Identity(id)})
	if err != nil {
		return nil, err
	}
	if result.Count == 0 {
		return nil, refuse(api.NoSubscriber, "topic "+quote(topic)+" has no subscriber "+quote(text))
	}
	return api.Removed{Removed: result.Count}, nil
}
