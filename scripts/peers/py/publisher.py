"""A stock Ice for Python publisher: strings with a cost, by the operation `say`.

Prints `ready PROXY`, then `published N acked N errors N seconds S`.
"""
import time

import peer
import Peer


def options():
    p = peer.parser(__doc__)
    p.add_argument("--count", type=int, default=1)
    p.add_argument("--cost", default="none", help="C[,C...], used in turn; none: no such entry")
    p.add_argument("--context", action="append", default=[], metavar="K=V")
    p.add_argument("--text", default="event", help="a blank and the event's number follow")
    return p


def context_of(options, i):
    context = dict(pair.split("=", 1) for pair in options.context)
    costs = options.cost.split(",")
    cost = costs[i % len(costs)]
    if cost != "none":
        context["cost"] = cost
    return context


def run(ice, options):
    publisher = peer.in_mode(peer.topic(ice, options).getPublisher(), options)
    events = Peer.EventsPrx.uncheckedCast(publisher)
    peer.say("ready %s" % publisher)
    start = time.monotonic()
    for i in range(options.count):
        events.say("%s %d" % (options.text, i), context_of(options, i))
    n = options.count
    peer.say("published %d acked %d errors 0 seconds %f" % (n, n, time.monotonic() - start))


peer.main(options(), run)
