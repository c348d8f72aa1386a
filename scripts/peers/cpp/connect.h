// How every subcommand reaches the service, and what it says of an exception.
#pragma once
#include "options.h"
#include <Ice/Ice.h>
#include <IceStorm/IceStorm.h>
#include <exception>
#include <string>

// --manager PROXY, or --finder HOST:PORT; --encoding 1.0|1.1 and --timeout MS (10000; -1: none) hold for both.
std::shared_ptr<IceStorm::TopicManagerPrx> topicManager(const Ice::CommunicatorPtr& ice, Options& options);

// The topic; made first where make is true and it is missing.
std::shared_ptr<IceStorm::TopicPrx> topicNamed(const std::shared_ptr<IceStorm::TopicManagerPrx>& manager,
                                               const std::string& name, bool make = false);

// The proxy with the options' encoding and invocation timeout.
std::shared_ptr<Ice::ObjectPrx> tuned(std::shared_ptr<Ice::ObjectPrx> proxy, Options& options);

// "TYPE DETAIL" of the exception in flight, on one line, without blanks in TYPE.
std::string describe(std::exception_ptr error);
