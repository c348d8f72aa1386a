// An object of ours that poses as another service's topic: `link` calls getLinkProxy on it, events come as forward.
#include "commands.h"
#include "life.h"
#include "lines.h"
#include <Internal.h>

using namespace std;

namespace
{
class ForeignTopic : public Ice::Blobject
{
public:
    ForeignTopic(const string& answer, shared_ptr<Ice::ObjectPrx> self) : _answer(answer), _self(self) {}

    bool ice_invoke(vector<Ice::Byte> in, vector<Ice::Byte>& out, const Ice::Current& current) override
    {
        if(current.operation == "getLinkProxy")
        {
            sayLine("asked");
            answer(out, current);
        }
        else if(current.operation == "forward")
        {
            take(in, current);
        }
        else
        {
            sayLine("other " + word(current.operation));
            throw Ice::OperationNotExistException(__FILE__, __LINE__);
        }
        return true;
    }

private:
    void answer(vector<Ice::Byte>& out, const Ice::Current& current)
    {
        if(_answer == "throw")
        {
            throw runtime_error("as asked");
        }
        Ice::OutputStream stream(current.adapter->getCommunicator());
        stream.startEncapsulation();
        stream.write(_answer == "self" ? _self : shared_ptr<Ice::ObjectPrx>());
        stream.endEncapsulation();
        stream.finished(out);
    }

    void take(const vector<Ice::Byte>& in, const Ice::Current& current)
    {
        IceStorm::EventDataSeq events;
        Ice::InputStream stream(current.adapter->getCommunicator(), in);
        stream.startEncapsulation();
        stream.read(events);
        stream.endEncapsulation();
        for(const auto& e : events)
        {
            sayLine("forwarded " + word(e.op) + " " + to_string(e.mode) + " " + contextWord(e.context) + " " +
                    to_string(e.data.size()));
        }
    }

    const string _answer;
    const shared_ptr<Ice::ObjectPrx> _self;
};
}

int foreign(const Ice::CommunicatorPtr& ice, Options& options)
{
    auto name = options.text("name", "elsewhere"), answer = options.text("answer", "self");
    auto endpoints = options.text("endpoints", "tcp -h 127.0.0.1");
    bool untilEof = options.flag("until-eof");
    options.check();
    if(answer != "self" && answer != "null" && answer != "throw")
    {
        throw Usage("--answer: self, null or throw");
    }
    auto adapter = ice->createObjectAdapterWithEndpoints("", endpoints);
    Ice::Identity id{"topic." + name, "Foreign"};
    adapter->add(make_shared<ForeignTopic>(answer, adapter->createProxy(id)), id);
    adapter->activate();
    sayLine("ready " + adapter->createProxy(id)->ice_toString());
    life().readStdin(untilEof, [](const string&) {});
    life().wait(0);
    return 0;
}
