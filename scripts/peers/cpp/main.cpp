// icepeer: a stock Ice program that publishes to, subscribes to and administers an IceStorm service, for
// tests and benchmarks. Says what happened as lines on stdout.
#include "commands.h"
#include "connect.h"
#include "life.h"
#include "lines.h"
#include <cstdio>
#include <iostream>
#include <unistd.h>

using namespace std;

namespace
{
const char* const usage = R"(usage: icepeer COMMAND [OPTIONS] [--Ice.PROPERTY=VALUE...]
All but foreign: --manager PROXY | --finder HOST:PORT; --encoding 1.0|1.1 --timeout MS (10000; -1: none) --until-eof

publish    --topic T --count N (1; 0: until the end) --seconds S --size BYTES (16) --rate R (0: flat out)
           --mode twoway|oneway|batch|datagram|batchdatagram --batch N (100: events per flush) --cost C[,C...]|none
           --context k=v --op tick|message|mark|say|count|ask --text TEXT (say: sent as it is) --threads K
           --publisher ID (1; thread k is ID+k) --seq-start N (0) --create --gate (waits for a line of stdin)
           --publisher-kind any|local --keep-going (after errors) --each (a line per event)
           prints: ready PROXY; ok SEQ; err SEQ ERROR; published N acked N errors N seconds S
subscribe  --topic T[,T...] --mode twoway|oneway|batch|datagram|batchdatagram|ordered --identity [CATEGORY/]NAME
           --qos k=v --endpoints E --adapter ID (registered at Ice.Default.Locator) --create --again (unsubscribes first) --any (takes every operation)
           --behaviour ok|slow:MS|hang|throw-user|throw-unknown|object-not-exist --expect N --linger MS
           --seconds S (time limit) --print each|summary --threads N --unsubscribe
           prints: ready ENDPOINTS; event TOPIC OP MODE COST CONTEXT PUB SEQ LATENCY_NS BYTES TEXT; summary ...
           reads: behaviour B
admin      topics | create T... | destroy T... | proxies T | subscribe T PROXY [k=v...] | unsubscribe T PROXY
           links T | link FROM TO|PROXY [COST] | unlink FROM TO|PROXY | subscribers T
           forward T|PROXY COUNT [k=v...] | create-many --count N --inflight K --prefix P | call PROXY OP
foreign    --name T --answer self|null|throw --endpoints E: an object that poses as a topic
           prints: ready PROXY; asked; forwarded OP MODE CONTEXT BYTES
)";

typedef int (*Command)(const Ice::CommunicatorPtr&, Options&);

Command commandNamed(const string& name)
{
    if(name == "publish") return publish;
    if(name == "subscribe") return subscribe;
    if(name == "admin") return admin;
    if(name == "foreign") return foreign;
    throw Usage("unknown command: " + name);
}

Ice::InitializationData iceData(Ice::StringSeq& args)
{
    Ice::InitializationData data;
    data.properties = Ice::createProperties(args);
    data.properties->setProperty("Ice.Override.CloseTimeout", "1000"); // at the end, a frozen peer is not waited for
    args = data.properties->parseCommandLineOptions("Ice", args);
    args = data.properties->parseCommandLineOptions("IceSSL", args);
    return data;
}

int run(const Ice::StringSeq& given)
{
    Ice::StringSeq args = given;
    auto data = iceData(args);
    if(args.empty() || args[0] == "help" || args[0] == "--help")
    {
        cout << usage;
        return args.empty() ? 2 : 0;
    }
    auto command = commandNamed(args[0]);
    args.erase(args.begin());
    Options options(args);
    if(options.has("threads"))
    {
        data.properties->setProperty("Ice.ThreadPool.Server.Size", to_string(options.number("threads", 1)));
    }
    Ice::CommunicatorHolder ice(Ice::initialize(data));
    return command(ice.communicator(), options);
}
}

int main(int argc, char* argv[])
{
    Ice::CtrlCHandler signals([](int) { life().end(Life::signalled); });
    int status = 1;
    try
    {
        status = run(Ice::StringSeq(argv + 1, argv + argc));
    }
    catch(const Usage& e)
    {
        cerr << "icepeer: " << e.what() << "\n" << usage;
        status = 2;
    }
    catch(...)
    {
        sayLine("error " + describe(current_exception()));
    }
    cout.flush();
    fflush(stdout);
    _exit(status); // a thread may still be blocked in a read of stdin
}
