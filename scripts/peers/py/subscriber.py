"""A stock Ice for Python subscriber.

Prints `ready ENDPOINTS`, then `event TOPIC OP MODE COST CONTEXT PUB SEQ LATENCY_NS BYTES TEXT` like icepeer (with
'-' for PUB, SEQ and LATENCY_NS), last `summary TOPIC count N`. Ends after --expect events, at SIGTERM, or where
stdin ends with --until-eof.
"""
import signal
import sys
import threading
import uuid

import Ice

import peer
import Peer


def options():
    p = peer.parser(__doc__)
    p.add_argument("--identity", default="py-" + str(uuid.uuid4()))
    p.add_argument("--endpoints", default="tcp -h 127.0.0.1")
    p.add_argument("--expect", type=int, default=0)
    p.add_argument("--unsubscribe", action="store_true")
    p.add_argument("--until-eof", action="store_true")
    return p


class Receiver(Peer.Events):
    def __init__(self, topic, expect, done):
        self.topic, self.expect, self.done, self.count = topic, expect, done, 0

    def take(self, size, text, current):
        cost = peer.word(current.ctx["cost"]) if "cost" in current.ctx else "-"
        mode = current.mode.name.lower() if hasattr(current.mode, "name") else str(current.mode).lower()
        peer.say("event %s %s %s %s %s - - - %d %s" % (
            peer.word(self.topic), current.operation, mode, cost, peer.context_word(current.ctx), size,
            peer.word(text)))
        self.count += 1
        if self.count == self.expect:
            self.done.set()

    def say(self, text, current=None):
        self.take(len(text.encode()), text, current)

    def tick(self, body, current=None):
        self.take(len(body), body.hex(), current)

    message = mark = tick

    def count(self, number, body, current=None):
        self.take(len(body), body.hex(), current)

    def ask(self, body, current=None):
        self.take(len(body), body.hex(), current)
        return 0


def end_with_stdin(done):
    sys.stdin.read()
    done.set()


def run(ice, options):
    done = threading.Event()
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(s, lambda *_: done.set())
    receiver = Receiver(options.topic, options.expect, done)
    adapter = ice.createObjectAdapterWithEndpoints("", options.endpoints)
    proxy = peer.in_mode(adapter.add(receiver, Ice.stringToIdentity(options.identity)), options)
    adapter.activate()
    topic = peer.topic(ice, options)
    topic.subscribeAndGetPublisher({}, proxy)
    peer.say("ready " + ":".join(str(e) for e in adapter.getEndpoints()))
    if options.until_eof:
        threading.Thread(target=end_with_stdin, args=(done,), daemon=True).start()
    while not done.wait(0.2):  # a signal is only seen between waits
        pass
    if options.unsubscribe:
        topic.unsubscribe(proxy)
    adapter.deactivate()
    adapter.waitForDeactivate()
    peer.say("summary %s count %d" % (peer.word(options.topic), receiver.count))


peer.main(options(), run)
