#include "commands.h"
#include "connect.h"
#include "life.h"
#include "lines.h"
#include "receiver.h"
#include <iostream>
#include <thread>

using namespace std;

namespace
{
struct Subscription
{
    shared_ptr<IceStorm::TopicPrx> topic;
    shared_ptr<Ice::ObjectPrx> subscriber;
    shared_ptr<Receiver> receiver;
};

struct Mode
{
    string name;

    bool datagram() const { return name == "datagram" || name == "batchdatagram"; }
    string endpoints() const { return datagram() ? "udp -h 127.0.0.1" : "tcp -h 127.0.0.1"; }
    shared_ptr<Ice::ObjectPrx> apply(shared_ptr<Ice::ObjectPrx> proxy) const
    {
        if(name == "twoway" || name == "ordered") return proxy->ice_twoway();
        if(name == "oneway") return proxy->ice_oneway();
        if(name == "batch") return proxy->ice_batchOneway();
        if(name == "datagram") return proxy->ice_datagram();
        if(name == "batchdatagram") return proxy->ice_batchDatagram();
        throw Usage("--mode: unknown: " + name);
    }
};

// One topic: the identity as given. Several: the topic's name behind it, so that each has a servant of its own.
Ice::Identity identityFor(const string& given, const string& topic, bool several)
{
    Ice::Identity id = Ice::stringToIdentity(given);
    if(several)
    {
        id.name += "." + topic;
    }
    return id;
}

void subscribeTo(const Subscription& s, const IceStorm::QoS& qos, bool again)
{
    if(again)
    {
        s.topic->unsubscribe(s.subscriber);
    }
    s.topic->subscribeAndGetPublisher(qos, s.subscriber);
}

// With an id the adapter is registered at the locator, and its proxies are indirect: "name @ id".
Ice::ObjectAdapterPtr makeAdapter(const Ice::CommunicatorPtr& ice, const string& endpoints, const string& id)
{
    if(id.empty())
    {
        return ice->createObjectAdapterWithEndpoints("", endpoints);
    }
    ice->getProperties()->setProperty("Peer.AdapterId", id);
    ice->getProperties()->setProperty("Peer.Endpoints", endpoints);
    return ice->createObjectAdapter("Peer");
}

string endpointsOf(const Ice::ObjectAdapterPtr& adapter)
{
    string out;
    for(const auto& e : adapter->getEndpoints())
    {
        out += (out.empty() ? "" : ":") + e->toString();
    }
    return out;
}

void takeCommand(const string& line, vector<Subscription>& subscriptions)
{
    const string verb = "behaviour ";
    if(line.compare(0, verb.size(), verb) != 0)
    {
        return;
    }
    auto behaviour = Behaviour::parse(line.substr(verb.size()));
    for(auto& s : subscriptions)
    {
        s.receiver->behave(behaviour);
    }
    sayLine(line);
}

// Waits for a copy too many, so that a duplicate isn't missed.
void linger(Life::Reason reason, long long ms)
{
    if(reason == Life::done && ms > 0)
    {
        this_thread::sleep_for(chrono::milliseconds(ms));
    }
}
}

int subscribe(const Ice::CommunicatorPtr& ice, Options& options)
{
    auto names = options.list("topic");
    if(names.empty())
    {
        throw Usage("--topic is missing");
    }
    Mode mode{options.text("mode", "twoway")};
    auto identity = options.text("identity", "peer-" + Ice::generateUUID());
    IceStorm::QoS qos = options.pairs("qos");
    if(mode.name == "ordered")
    {
        qos["reliability"] = "ordered";
    }
    auto endpoints = options.text("endpoints", mode.endpoints());
    auto adapterId = options.text("adapter");
    auto behaviour = Behaviour::parse(options.text("behaviour", "ok"));
    auto print = options.text("print", "each");
    auto expect = static_cast<uint64_t>(options.number("expect", 0));
    auto lingerMs = options.number("linger", 0);
    double seconds = options.real("seconds", 0);
    bool create = options.flag("create"), again = options.flag("again"), any = options.flag("any");
    bool unsubscribe = options.flag("unsubscribe"), untilEof = options.flag("until-eof");
    options.number("threads", 1); // taken by main
    auto manager = topicManager(ice, options);
    options.check();

    Tally tally(expect);
    auto adapter = makeAdapter(ice, endpoints, adapterId);
    static vector<Subscription> subscriptions; // the stdin thread may outlive this call
    for(const auto& name : names)
    {
        Subscription s;
        s.receiver = make_shared<Receiver>(name, behaviour, print == "each", tally);
        auto proxy = adapter->add(s.receiver->servant(any), identityFor(identity, name, names.size() > 1));
        s.subscriber = mode.apply(proxy);
        subscriptions.push_back(s);
    }
    adapter->activate();
    for(size_t i = 0; i < names.size(); ++i)
    {
        subscriptions[i].topic = topicNamed(manager, names[i], create);
        subscribeTo(subscriptions[i], qos, again);
    }
    sayLine("ready " + endpointsOf(adapter));
    life().readStdin(untilEof, [](const string& line) { takeCommand(line, subscriptions); });

    auto reason = life().wait(seconds);
    linger(reason, lingerMs);
    for(const auto& s : subscriptions)
    {
        if(unsubscribe)
        {
            s.topic->unsubscribe(s.subscriber);
        }
    }
    life().end(Life::done); // lets a hanging servant go
    adapter->deactivate();
    adapter->waitForDeactivate();
    for(const auto& s : subscriptions)
    {
        sayLine(s.receiver->summary());
    }
    return reason == Life::expired && expect > 0 ? 1 : 0;
}
