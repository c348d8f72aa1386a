#include "receiver.h"
#include "life.h"
#include "lines.h"
#include "options.h"
#include <Peer.h>

using namespace std;

Behaviour Behaviour::parse(const string& text)
{
    if(text == "ok") return {ok, 0};
    if(text == "hang") return {hang, 0};
    if(text == "throw-user") return {throwUser, 0};
    if(text == "throw-unknown") return {throwUnknown, 0};
    if(text == "object-not-exist") return {objectNotExist, 0};
    if(text.compare(0, 5, "slow:") == 0) return {slow, atoi(text.c_str() + 5)};
    throw Usage("--behaviour: unknown: " + text);
}

void Tally::count()
{
    if(++_seen == _expect)
    {
        life().end(Life::done);
    }
}

namespace
{
class Typed : public Peer::Events
{
public:
    explicit Typed(shared_ptr<Receiver> to) : _to(to) {}

    void tick(Peer::Bytes body, const Ice::Current& c) override { _to->binary(body, c); }
    void message(Peer::Bytes body, const Ice::Current& c) override { _to->binary(body, c); }
    void mark(Peer::Bytes body, const Ice::Current& c) override { _to->binary(body, c); }
    void count(long long, Peer::Bytes body, const Ice::Current& c) override { _to->binary(body, c); }
    void say(string text, const Ice::Current& c) override { _to->text(text, c); }
    long long ask(Peer::Bytes body, const Ice::Current& c) override
    {
        _to->binary(body, c);
        return 0;
    }

private:
    shared_ptr<Receiver> _to;
};

class Untyped : public Ice::Blobject
{
public:
    explicit Untyped(shared_ptr<Receiver> to) : _to(to) {}

    bool ice_invoke(vector<Ice::Byte> in, vector<Ice::Byte>&, const Ice::Current& c) override
    {
        _to->raw(in, c);
        return true;
    }

private:
    shared_ptr<Receiver> _to;
};

string modeName(Ice::OperationMode mode)
{
    switch(mode)
    {
        case Ice::OperationMode::Normal: return "normal";
        case Ice::OperationMode::Nonmutating: return "nonmutating";
        case Ice::OperationMode::Idempotent: return "idempotent";
    }
    return to_string(static_cast<int>(mode));
}

string costOf(const Ice::Context& context)
{
    auto p = context.find("cost");
    return p == context.end() ? "-" : word(p->second);
}
}

Receiver::Receiver(const string& topic, Behaviour behaviour, bool print, Tally& tally) :
    _topic(topic), _print(print), _tally(tally), _behaviour(behaviour)
{
}

shared_ptr<Ice::Object> Receiver::servant(bool any)
{
    if(any)
    {
        return make_shared<Untyped>(shared_from_this());
    }
    return make_shared<Typed>(shared_from_this());
}

void Receiver::behave(Behaviour behaviour)
{
    lock_guard<mutex> lock(_mutex);
    _behaviour = behaviour;
}

string Receiver::summary()
{
    lock_guard<mutex> lock(_mutex);
    return _stats.line(_topic);
}

void Receiver::binary(const vector<Ice::Byte>& body, const Ice::Current& current)
{
    Event event;
    bool ours = decode(body, event);
    take(ours ? &event : nullptr, body.size(), ours ? "" : string(body.begin(), body.end()), current);
}

void Receiver::text(const string& text, const Ice::Current& current)
{
    Event event;
    vector<Ice::Byte> body;
    bool ours = fromText(text, body) && decode(body, event);
    take(ours ? &event : nullptr, text.size(), ours ? "" : text, current);
}

void Receiver::raw(const vector<Ice::Byte>& in, const Ice::Current& current)
{
    Ice::InputStream stream(current.adapter->getCommunicator(), in);
    vector<Ice::Byte> body;
    try
    {
        stream.startEncapsulation();
        stream.read(body);
        stream.endEncapsulation();
    }
    catch(const Ice::Exception&)
    {
        body = in; // not a lone byte sequence or string: shown as it came
    }
    binary(body, current);
}

void Receiver::take(const Event* event, size_t bytes, const string& text, const Ice::Current& current)
{
    int64_t latency = event ? nowNs() - event->sentNs : 0;
    {
        lock_guard<mutex> lock(_mutex);
        if(event)
        {
            _stats.add(*event, latency);
        }
        else
        {
            _stats.addForeign();
        }
        if(_print) // under the lock, so that lines stand in the order of counting
        {
            string head = "event " + word(_topic) + " " + word(current.operation) + " " + modeName(current.mode) + " " +
                costOf(current.ctx) + " " + contextWord(current.ctx);
            string body = event ? to_string(event->publisher) + " " + to_string(event->seq) + " " + to_string(latency) : "- - -";
            sayLine(head + " " + body + " " + to_string(bytes) + " " + (event ? "-" : word(text.substr(0, 512))));
        }
    }
    _tally.count();
    act();
}

void Receiver::act()
{
    Behaviour behaviour;
    {
        lock_guard<mutex> lock(_mutex);
        behaviour = _behaviour;
    }
    switch(behaviour.kind)
    {
        case Behaviour::ok:
            return;
        case Behaviour::slow:
            life().sleepUntil(chrono::steady_clock::now() + chrono::milliseconds(behaviour.ms));
            return;
        case Behaviour::hang:
            life().wait(0);
            return;
        case Behaviour::throwUser:
            throw Peer::Refused("as asked");
        case Behaviour::throwUnknown:
            throw runtime_error("as asked");
        case Behaviour::objectNotExist:
            throw Ice::ObjectNotExistException(__FILE__, __LINE__);
    }
}
