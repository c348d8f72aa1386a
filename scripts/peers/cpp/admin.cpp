#include "commands.h"
#include "connect.h"
#include "event.h"
#include "life.h"
#include "lines.h"
#include <Internal.h>
#include <condition_variable>
#include <mutex>
#include <sstream>

using namespace std;

namespace
{
typedef shared_ptr<IceStorm::TopicManagerPrx> Manager;
typedef shared_ptr<IceStorm::TopicPrx> Topic;

const string& wordAt(const Options& options, size_t i, const string& what)
{
    if(i >= options.words.size())
    {
        throw Usage("admin " + options.words[0] + ": " + what + " is missing");
    }
    return options.words[i];
}

string shown(const shared_ptr<Ice::ObjectPrx>& proxy)
{
    return proxy ? proxy->ice_toString() : "-";
}

// A word with ':' or '@' behind its first character is a proxy, else the name of a topic.
Topic topicOrProxy(const Ice::CommunicatorPtr& ice, const Manager& manager, const string& text)
{
    if(text.find_first_of(":@") == string::npos)
    {
        return topicNamed(manager, text);
    }
    return Ice::uncheckedCast<IceStorm::TopicPrx>(ice->stringToProxy(text));
}

IceStorm::QoS pairsFrom(const Options& options, size_t i)
{
    IceStorm::QoS out;
    for(; i < options.words.size(); ++i)
    {
        out.insert(cutPair(options.words[i]));
    }
    return out;
}

void listTopics(const Manager& manager)
{
    auto all = manager->retrieveAll();
    for(const auto& p : all)
    {
        sayLine("topic " + word(p.first) + " " + shown(p.second));
    }
    sayLine("count " + to_string(all.size()));
}

void listProxies(const Manager& manager, const Topic& topic)
{
    sayLine("manager " + shown(manager));
    sayLine("topic " + shown(topic));
    sayLine("publisher " + shown(topic->getPublisher()));
    sayLine("nonreplicated " + shown(topic->getNonReplicatedPublisher()));
    sayLine("link " + shown(Ice::uncheckedCast<IceStorm::TopicInternalPrx>(topic)->getLinkProxy()));
}

void listLinks(const Topic& topic)
{
    for(const auto& link : topic->getLinkInfoSeq())
    {
        sayLine("link " + word(link.name) + " " + to_string(link.cost) + " " + shown(link.theTopic));
    }
}

void listSubscribers(const Topic& topic)
{
    for(const auto& id : topic->getSubscribers())
    {
        sayLine("subscriber " + word(Ice::identityToString(id)));
    }
}

// An event `tick` with one body of ours, as a linked topic would pass it on.
IceStorm::EventData eventData(const Ice::CommunicatorPtr& ice, uint32_t seq, const Ice::Context& context)
{
    Event event;
    event.seq = seq;
    event.publisher = 1;
    event.sentNs = nowNs();
    vector<Ice::Byte> body(Event::headSize), data;
    encode(event, body);
    Ice::OutputStream out(ice);
    out.startEncapsulation();
    out.write(body);
    out.endEncapsulation();
    out.finished(data);
    return {"tick", 0, data, context};
}

void forward(const Ice::CommunicatorPtr& ice, const Topic& topic, int count, const Ice::Context& context)
{
    auto link = Ice::uncheckedCast<IceStorm::TopicInternalPrx>(topic)->getLinkProxy();
    IceStorm::EventDataSeq events;
    for(int i = 0; i < count; ++i)
    {
        events.push_back(eventData(ice, static_cast<uint32_t>(i), context));
    }
    link->forward(events);
    sayLine("forwarded " + to_string(count));
}

void call(const shared_ptr<Ice::ObjectPrx>& proxy, const string& operation)
{
    vector<Ice::Byte> out;
    bool ok = proxy->ice_invoke(operation, Ice::OperationMode::Normal, vector<Ice::Byte>(), out);
    ostringstream bytes;
    bytes << (ok ? "result " : "exception ") << toText(out);
    sayLine(bytes.str());
}

// Counts calls in flight and their outcomes.
class Flight
{
public:
    void begin(int limit)
    {
        unique_lock<mutex> lock(_mutex);
        _changed.wait(lock, [&] { return _open < limit; });
        ++_open;
    }
    void end(exception_ptr error)
    {
        lock_guard<mutex> lock(_mutex);
        --_open;
        (error ? failed : succeeded) += 1;
        if(error && failed <= 10)
        {
            sayLine("err " + describe(error));
        }
        _changed.notify_all();
    }
    void drain()
    {
        unique_lock<mutex> lock(_mutex);
        _changed.wait(lock, [&] { return _open == 0; });
    }

    long long succeeded = 0, failed = 0;

private:
    mutex _mutex;
    condition_variable _changed;
    int _open = 0;
};

int createMany(const Manager& manager, long long count, int inflight, const string& prefix)
{
    Flight flight;
    int64_t start = nowNs();
    for(long long i = 0; i < count && !life().ended(); ++i)
    {
        flight.begin(inflight);
        manager->createAsync(
            prefix + to_string(i), [&](Topic) { flight.end(nullptr); }, [&](exception_ptr e) { flight.end(e); });
    }
    flight.drain();
    double seconds = static_cast<double>(nowNs() - start) / 1e9;
    ostringstream out;
    out << "created " << flight.succeeded << " errors " << flight.failed << " seconds " << seconds << " per_second "
        << static_cast<double>(flight.succeeded) / seconds;
    sayLine(out.str());
    return flight.failed ? 1 : 0;
}

// The verbs that take a topic first.
void onTopic(const Ice::CommunicatorPtr& ice, const Manager& manager, const Options& options, const string& verb)
{
    auto topic = topicOrProxy(ice, manager, wordAt(options, 1, "a topic"));
    auto proxy = [&] { return ice->stringToProxy(wordAt(options, 2, "a proxy")); };
    auto other = [&] { return topicOrProxy(ice, manager, wordAt(options, 2, "the other topic")); };
    if(verb == "proxies") listProxies(manager, topic);
    else if(verb == "links") listLinks(topic);
    else if(verb == "subscribers") listSubscribers(topic);
    else if(verb == "subscribe") sayLine("publisher " + shown(topic->subscribeAndGetPublisher(pairsFrom(options, 3), proxy())));
    else if(verb == "unsubscribe") topic->unsubscribe(proxy());
    else if(verb == "link") topic->link(other(), options.words.size() > 3 ? stoi(options.words[3]) : 0);
    else if(verb == "unlink") topic->unlink(other());
    else if(verb == "forward") forward(ice, topic, stoi(wordAt(options, 2, "a count")), pairsFrom(options, 3));
    else throw Usage("admin: unknown verb: " + verb);
}
}

int admin(const Ice::CommunicatorPtr& ice, Options& options)
{
    if(options.words.empty())
    {
        throw Usage("admin: a verb is missing");
    }
    string verb = options.words[0], prefix = options.text("prefix", "many");
    auto count = options.number("count", 100);
    int inflight = static_cast<int>(options.number("inflight", 1));
    if(verb == "call")
    {
        call(tuned(ice->stringToProxy(wordAt(options, 1, "a proxy")), options), wordAt(options, 2, "an operation"));
        return 0;
    }
    auto manager = topicManager(ice, options);
    options.check();
    if(verb == "topics")
    {
        listTopics(manager);
    }
    else if(verb == "create-many")
    {
        return createMany(manager, count, max(inflight, 1), prefix);
    }
    else if(verb == "create" || verb == "destroy")
    {
        for(size_t i = 1; i < options.words.size(); ++i)
        {
            verb == "create" ? (void)manager->create(options.words[i]) : manager->retrieve(options.words[i])->destroy();
        }
    }
    else
    {
        onTopic(ice, manager, options, verb);
    }
    sayLine("done");
    return 0;
}
