"""What publisher.py and subscriber.py share: the command line, the service, lines for programs."""
import argparse
import os
import sys

import Ice

here = os.path.dirname(os.path.abspath(__file__))
Ice.loadSlice("", ["-I" + Ice.getSliceDir(), os.path.join(here, "../slice/Peer.ice")])
import IceStorm  # noqa: E402
import Peer  # noqa: E402


def parser(about):
    p = argparse.ArgumentParser(description=about, epilog="Any --Ice.PROPERTY=VALUE goes to Ice.")
    where = p.add_mutually_exclusive_group(required=True)
    where.add_argument("--manager", metavar="PROXY")
    where.add_argument("--finder", metavar="HOST:PORT")
    p.add_argument("--topic", required=True)
    p.add_argument("--mode", default="twoway", choices=["twoway", "oneway"])
    p.add_argument("--create", action="store_true")
    return p


def say(line):
    print(line, flush=True)


def word(text):
    """Like word() of lines.cpp: blanks, control and non-ASCII bytes as %XX."""
    if text in ("", "-"):
        return {"": "%", "-": "%2D"}[text]
    return escaped(text, b"%")


def escaped(text, special):
    data = text.encode()
    return "".join(chr(b) if 32 < b < 127 and b not in special else "%%%02X" % b for b in data)


def context_word(context):
    pairs = (escaped(k, b"%,=") + "=" + escaped(v, b"%,=") for k, v in sorted(context.items()))
    return ",".join(pairs) or "-"


def manager(ice, options):
    if options.manager:
        return IceStorm.TopicManagerPrx.uncheckedCast(ice.stringToProxy(options.manager))
    host, port = options.finder.rsplit(":", 1)
    finder = ice.stringToProxy('IceStorm/Finder:tcp -h "%s" -p %s -t 3000' % (host, port))
    return IceStorm.FinderPrx.uncheckedCast(finder).getTopicManager()


def topic(ice, options):
    found = manager(ice, options)
    try:
        return found.retrieve(options.topic)
    except IceStorm.NoSuchTopic:
        if not options.create:
            raise
    try:
        return found.create(options.topic)
    except IceStorm.TopicExists:
        return found.retrieve(options.topic)


def in_mode(proxy, options):
    return proxy.ice_oneway() if options.mode == "oneway" else proxy.ice_twoway()


def main(parser, run):
    """Runs run(ice, options); an Ice exception becomes a line `error TYPE TEXT` and exit status 1."""
    properties = Ice.createProperties(sys.argv)
    properties.setProperty("Ice.Override.CloseTimeout", "1000")  # at the end, a frozen peer is not waited for
    rest = properties.parseCommandLineOptions("Ice", sys.argv[1:])
    options = parser.parse_args(rest)
    data = Ice.InitializationData()
    data.properties = properties
    try:
        with Ice.initialize(data) as ice:
            run(ice, options)
    except Ice.Exception as e:
        say("error %s %s" % (e.ice_id(), " ".join(str(e).split())))
        sys.exit(1)
