#pragma once
#include "options.h"
#include <Ice/Ice.h>

// Each returns the exit status: 0 done, 1 failed. Usage errors are thrown.
int publish(const Ice::CommunicatorPtr& ice, Options& options);
int subscribe(const Ice::CommunicatorPtr& ice, Options& options);
int admin(const Ice::CommunicatorPtr& ice, Options& options);
int foreign(const Ice::CommunicatorPtr& ice, Options& options);
