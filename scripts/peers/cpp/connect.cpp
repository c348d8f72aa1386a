#include "connect.h"
#include "lines.h"
#include <sstream>

using namespace std;

namespace
{
string finderProxy(const string& at)
{
    auto colon = at.rfind(':');
    if(colon == string::npos)
    {
        throw Usage("--finder: not HOST:PORT: " + at);
    }
    return "IceStorm/Finder:tcp -h \"" + at.substr(0, colon) + "\" -p " + at.substr(colon + 1) + " -t 3000";
}

string detail(const Ice::Exception& e)
{
    if(auto x = dynamic_cast<const IceStorm::NoSuchTopic*>(&e)) return x->name;
    if(auto x = dynamic_cast<const IceStorm::TopicExists*>(&e)) return x->name;
    if(auto x = dynamic_cast<const IceStorm::LinkExists*>(&e)) return x->name;
    if(auto x = dynamic_cast<const IceStorm::NoSuchLink*>(&e)) return x->name;
    if(auto x = dynamic_cast<const IceStorm::BadQoS*>(&e)) return x->reason;
    if(auto x = dynamic_cast<const IceStorm::InvalidSubscriber*>(&e)) return x->reason;
    if(auto x = dynamic_cast<const Ice::UnknownException*>(&e)) return x->unknown;
    ostringstream out;
    out << e;
    return out.str();
}
}

shared_ptr<Ice::ObjectPrx> tuned(shared_ptr<Ice::ObjectPrx> proxy, Options& options)
{
    auto encoding = Ice::stringToEncodingVersion(options.text("encoding", "1.1"));
    return proxy->ice_encodingVersion(encoding)
        ->ice_invocationTimeout(static_cast<int>(options.number("timeout", 10000)));
}

shared_ptr<IceStorm::TopicManagerPrx> topicManager(const Ice::CommunicatorPtr& ice, Options& options)
{
    string manager = options.text("manager"), finder = options.text("finder");
    if(manager.empty() == finder.empty())
    {
        throw Usage("one of --manager PROXY and --finder HOST:PORT is needed");
    }
    if(!manager.empty())
    {
        return Ice::uncheckedCast<IceStorm::TopicManagerPrx>(tuned(ice->stringToProxy(manager), options));
    }
    auto proxy = tuned(ice->stringToProxy(finderProxy(finder)), options);
    auto found = Ice::uncheckedCast<IceStorm::FinderPrx>(proxy)->getTopicManager();
    return Ice::uncheckedCast<IceStorm::TopicManagerPrx>(tuned(found, options));
}

shared_ptr<IceStorm::TopicPrx> topicNamed(const shared_ptr<IceStorm::TopicManagerPrx>& manager, const string& name,
                                          bool make)
{
    try
    {
        return manager->retrieve(name);
    }
    catch(const IceStorm::NoSuchTopic&)
    {
        if(!make)
        {
            throw;
        }
    }
    try
    {
        return manager->create(name);
    }
    catch(const IceStorm::TopicExists&)
    {
        return manager->retrieve(name); // somebody was faster
    }
}

string describe(exception_ptr error)
{
    try
    {
        rethrow_exception(error);
    }
    catch(const Ice::Exception& e)
    {
        return e.ice_id() + " " + oneLine(detail(e));
    }
    catch(const exception& e)
    {
        return string("exception ") + oneLine(e.what());
    }
    catch(...)
    {
        return "exception unknown";
    }
}
