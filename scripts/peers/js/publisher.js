// A stock Ice for JavaScript publisher over ws: strings with a cost, by the operation `say`.
// Prints `ready PROXY`, then `published N acked N errors N seconds S`.
// Usage: node publisher.js --manager PROXY --topic T [--create] [--count N] [--cost C[,C...]|none]
//            [--context k=v]... [--text TEXT] [--mode twoway|oneway] [--Ice.PROPERTY=VALUE...]
// There is no subscriber: Ice for JavaScript has no server endpoints, it receives only over connections that it
// opened itself (bidirectional ones), and a topic service opens its own connection to a subscriber.
"use strict";
// Ice for JavaScript speaks ws through the browser's WebSocket, which Node.js lacks before version 22.
// An error is followed by the close that Ice acts on; one that nobody listens to would end the process.
globalThis.WebSocket = class extends require("ws") {
    constructor(...args) {
        super(...args);
        this.on("error", () => {});
    }
};
if (typeof navigator === "undefined") globalThis.navigator = {userAgent: "node"};
const {execFileSync} = require("child_process");
const Module = require("module");
const path = require("path");
const Ice = require("ice").Ice;
const IceStorm = require("ice").IceStorm;

// Compiles NAME.ice when the program starts, like Ice.loadSlice of Ice for Python.
function loadSlice(name) {
    const file = path.join(__dirname, "..", "slice", `${name}.ice`);
    const source = execFileSync("slice2js", ["--stdout", file], {encoding: "utf8"});
    const made = new Module(path.join(__dirname, `${name}.js`));
    made.paths = module.paths; // finds the same "ice" as this file
    made._compile(source, made.id);
    return made.exports[name];
}

function parse(words) {
    const options = {count: "1", cost: "none", text: "event", mode: "twoway", context: [], ice: []};
    for (let i = 0; i < words.length; ++i) {
        const name = words[i].slice(2);
        if (words[i].startsWith("--Ice.")) options.ice.push(words[i]);
        else if (name === "create") options.create = true;
        else if (name === "context") options.context.push(words[++i]);
        else if (words[i].startsWith("--")) options[name] = words[++i];
        else throw new Error(`unexpected word: ${words[i]}`);
    }
    if (!options.manager || !options.topic) throw new Error("--manager PROXY and --topic T are needed");
    return options;
}

async function topicOf(ice, options) {
    const manager = IceStorm.TopicManagerPrx.uncheckedCast(ice.stringToProxy(options.manager));
    try {
        return await manager.retrieve(options.topic);
    } catch (e) {
        if (!(e instanceof IceStorm.NoSuchTopic && options.create)) throw e;
    }
    return manager.create(options.topic);
}

function contextOf(options, i) {
    const context = new Map(options.context.map(pair => {
        const at = pair.indexOf("=");
        return [pair.slice(0, at), pair.slice(at + 1)];
    }));
    const costs = options.cost.split(",");
    const cost = costs[i % costs.length];
    if (cost !== "none") context.set("cost", cost);
    return context;
}

async function run(ice, options) {
    const topic = await topicOf(ice, options);
    let publisher = await topic.getPublisher();
    publisher = options.mode === "oneway" ? publisher.ice_oneway() : publisher;
    const events = loadSlice("Peer").EventsPrx.uncheckedCast(publisher);
    console.log(`ready ${publisher}`);
    const start = Date.now();
    const count = Number(options.count);
    for (let i = 0; i < count; ++i) {
        await events.say(`${options.text} ${i}`, contextOf(options, i));
    }
    console.log(`published ${count} acked ${count} errors 0 seconds ${(Date.now() - start) / 1000}`);
}

async function main() {
    const options = parse(process.argv.slice(2));
    const data = new Ice.InitializationData();
    data.properties = Ice.createProperties(options.ice);
    const ice = Ice.initialize(data);
    try {
        await run(ice, options);
    } finally {
        await ice.destroy();
    }
}

main().catch(e => {
    const id = e.ice_id ? e.ice_id() : e.name;
    console.log(`error ${id} ${(e.message || String(e)).replace(/\s+/g, " ")}`);
    process.exitCode = 1;
});
