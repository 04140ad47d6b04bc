/**
 * The commands of scripted cases. Words with `=` are options, the others arguments; a node is its number.
 *
 * | Command | Does |
 * |---|---|
 * | `nodes 1 2 3 [learners=4] [strangers=5] [index=1] [term=1] [limit=...]` | a new cluster; strangers are no members and have an empty log |
 * | `campaign N`, `propose N text`, `read N context`, `transfer N to`, `tick N [times=1]` | as the core's method |
 * | `change N v4 l5 r3 [transition=...]`, `change N leave` | proposes a change: voter, learner, remove |
 * | `ready N`, `append N`, `apply N` | hands out one Ready; makes all appends durable; applies all that was handed out |
 * | `deliver [N] [from=] [type=] [count=] [fate=arrive/drop/repeat]` | messages on the way to N, or to all |
 * | `stabilize [N...]` | all of it until nothing moves |
 * | `isolate N`, `cut A B`, `heal` | loses what N sends and gets; what A sends B; nothing |
 * | `crash N` | loses what is not durable and starts again |
 * | `compact N index` | makes a snapshot of what is applied, forgets the log up to the index |
 * | `unreachable N of`, `installed N of`, `not-installed N of` | the driver's reports |
 * | `timeout N ticks` | sets the election timeout until it is drawn again |
 * | `send from=A to=B type=T ...` | puts a made-up message on the way |
 * | `state [N...]`, `log N`, `progress N`, `members N` | prints |
 *
 * `quiet` as the last word keeps the trace of a command to itself.
 */

import type { ConfChange, Message, NodeId, ProposeOutcome } from "../../../../src/server/core/raft/index.ts";
import { type MessageFields, makeMessage } from "../../../../src/server/core/raft/raft-messages.ts";
import { compactNode, type Limits, WIDE_LIMITS } from "./node.ts";
import type { MessageFilter, ScriptCluster } from "./script-cluster.ts";
import { configurationText, entryText, progressTexts, stateText } from "./trace.ts";

interface Words {
  readonly ids: readonly NodeId[];
  readonly rest: readonly string[];
  readonly options: ReadonlyMap<string, string>;
}

type Command = (cluster: ScriptCluster, words: Words) => void;

const encode = (text: string) => new TextEncoder().encode(text);
const numbers = (text: string | undefined) => (text === undefined || text === "" ? [] : text.split(",").map(Number));

function numberOption({ options }: Words, name: string, otherwise: number): number {
  return Number(options.get(name) ?? otherwise);
}

function first({ ids }: Words): NodeId {
  if (ids[0] === undefined) throw new Error("which node?");
  return ids[0];
}

function noteOutcome(cluster: ScriptCluster, outcome: ProposeOutcome): void {
  if (outcome.kind === "refused") cluster.note(`refused: ${outcome.reason}`);
  if (outcome.kind === "not-leader") cluster.note(`not leader, lead=${outcome.lead ?? "-"}`);
}

const LIMITS = [
  "electionTicks",
  "heartbeatTicks",
  "maxMessageBytes",
  "maxInflightMessages",
  "maxInflightBytes",
] as const;
const MORE_LIMITS = ["maxUncommittedBytes", "maxUncommittedEntries", "maxApplyingBytes"] as const;

function limitsOf(words: Words): Limits {
  const input = [...LIMITS, ...MORE_LIMITS].map(
    (name) => [name, numberOption(words, name, WIDE_LIMITS[name])] as const,
  );
  return { ...WIDE_LIMITS, ...Object.fromEntries(input), random: () => 0 };
}

function changeOf({ rest, options }: Words): ConfChange {
  const types = { v: "add-node", l: "add-learner", r: "remove-node" } as const;
  const transition = options.get("transition") ?? "auto";
  if (transition !== "auto" && transition !== "joint-implicit" && transition !== "joint-explicit") {
    throw new Error(`no transition ${transition}`);
  }
  const changes = rest.flatMap((word) => {
    const letter = word[0];
    if (word === "leave" || (letter !== "v" && letter !== "l" && letter !== "r")) return [];
    return [{ type: types[letter], nodeId: Number(word.slice(1)) }];
  });
  return { transition, changes, context: new Uint8Array(0) };
}

function filterOf({ ids, options }: Words): MessageFilter {
  const from = options.get("from");
  const type = options.get("type");
  const count = options.get("count");
  return {
    ...(ids[0] === undefined ? {} : { to: ids[0] }),
    ...(from === undefined ? {} : { from: Number(from) }),
    ...(type === undefined ? {} : { type }),
    ...(count === undefined ? {} : { count: Number(count) }),
  };
}

/** Parses `entries=term/index/text,...`, `snapshot=term/index`; everything else is a number, a type or a flag. */
function messageOf(cluster: ScriptCluster, words: Words): Message {
  const { options } = words;
  const number = (name: string) => numberOption(words, name, 0);
  const [logTerm, index] = (options.get("log") ?? `0/${number("index")}`).split("/").map(Number);
  const entries = (options.get("entries") ?? "").split(",").flatMap((word) => {
    const [term, at, data] = word.split("/");
    return data === undefined
      ? []
      : [{ term: Number(term), index: Number(at), kind: "normal" as const, data: encode(data) }];
  });
  const [snapshotTerm, snapshotIndex] = (options.get("snapshot") ?? "").split("/").map(Number);
  return makeMessage({
    type: options.get("type") as MessageFields["type"],
    from: number("from"),
    to: number("to"),
    term: number("term"),
    logTerm: logTerm ?? 0,
    index: index ?? 0,
    commit: number("commit"),
    reject: options.get("reject") === "true",
    transfer: options.get("transfer") === "true",
    hintIndex: number("hint"),
    entries,
    ...(snapshotIndex === undefined || snapshotTerm === undefined
      ? {}
      : {
          snapshot: {
            term: snapshotTerm,
            index: snapshotIndex,
            configuration: cluster.node(number("to")).raft.status().configuration,
          },
        }),
  });
}

const everyone = (cluster: ScriptCluster, { ids }: Words) => (ids.length > 0 ? ids : [...cluster.nodes.keys()]);

const COMMANDS: Readonly<Record<string, Command>> = {
  nodes(cluster, words) {
    cluster.clear();
    const learners = numbers(words.options.get("learners"));
    const limits = limitsOf(words);
    const configuration = {
      voters: words.ids.map(Number),
      votersOutgoing: [],
      learners,
      learnersNext: [],
      autoLeave: false,
    };
    const [index, term] = [numberOption(words, "index", 1), numberOption(words, "term", 1)];
    for (const id of [...words.ids, ...learners]) cluster.add(id, { index, term, configuration }, limits);
    const nobody = { ...configuration, voters: [], learners: [] };
    for (const id of numbers(words.options.get("strangers"))) {
      cluster.add(id, { index: 0, term: 0, configuration: nobody }, limits);
    }
  },
  campaign: (cluster, words) => cluster.node(first(words)).raft.campaign(),
  propose: (cluster, words) =>
    noteOutcome(cluster, cluster.node(first(words)).raft.propose(encode(words.rest[0] ?? ""))),
  change: (cluster, words) => noteOutcome(cluster, cluster.node(first(words)).raft.proposeConf(changeOf(words))),
  read: (cluster, words) => cluster.node(first(words)).raft.readIndex(encode(words.rest[0] ?? "")),
  transfer: (cluster, words) => cluster.node(first(words)).raft.transferLeader(words.ids[1] ?? 0),
  tick(cluster, words) {
    for (let n = numberOption(words, "times", 1); n > 0; n -= 1) cluster.node(first(words)).raft.tick();
  },
  timeout: (cluster, words) => cluster.node(first(words)).raft.setRandomizedElectionTimeout(Number(words.ids[1])),
  ready: (cluster, words) => cluster.handOut(first(words)),
  append(cluster, words) {
    while (cluster.appendOne(first(words)));
  },
  apply(cluster, words) {
    while (cluster.applyOne(first(words)));
  },
  deliver(cluster, words) {
    const fate = words.options.get("fate") ?? "arrive";
    if (fate !== "arrive" && fate !== "drop" && fate !== "repeat") throw new Error(`no fate ${fate}`);
    cluster.deliver(filterOf(words), fate);
  },
  stabilize: (cluster, words) => cluster.stabilize(everyone(cluster, words)),
  isolate(cluster, words) {
    for (const id of words.ids) {
      for (const other of cluster.nodes.keys()) {
        cluster.setCut(id, other, true);
        cluster.setCut(other, id, true);
      }
    }
  },
  cut: (cluster, words) => cluster.setCut(first(words), words.ids[1] ?? 0, true),
  heal(cluster) {
    for (const a of cluster.nodes.keys()) for (const b of cluster.nodes.keys()) cluster.setCut(a, b, false);
  },
  crash: (cluster, words) => cluster.crash(first(words)),
  compact: (cluster, words) => compactNode(cluster.node(first(words)), Number(words.ids[1])),
  unreachable: (cluster, words) => cluster.node(first(words)).raft.reportUnreachable(words.ids[1] ?? 0),
  installed: (cluster, words) => cluster.node(first(words)).raft.reportSnapshot(words.ids[1] ?? 0, true),
  "not-installed": (cluster, words) => cluster.node(first(words)).raft.reportSnapshot(words.ids[1] ?? 0, false),
  send: (cluster, words) => cluster.put(messageOf(cluster, words)),
  state(cluster, words) {
    for (const id of everyone(cluster, words)) cluster.note(stateText(cluster.node(id).raft.status()));
  },
  log(cluster, words) {
    const { log } = cluster.node(first(words));
    const [low, high] = [log.firstIndex(), log.lastIndex() + 1];
    if (low === high) cluster.note(`empty, ends at ${log.term(high - 1)}/${high - 1}`);
    else for (const entry of log.entries(low, high, Number.POSITIVE_INFINITY)) cluster.note(entryText(entry));
  },
  progress(cluster, words) {
    for (const line of progressTexts(cluster.node(first(words)).raft.status())) cluster.note(line);
  },
  members(cluster, words) {
    for (const id of everyone(cluster, words)) {
      cluster.note(`${id}: ${configurationText(cluster.node(id).raft.status().configuration)}`);
    }
  },
};

/** Runs one line of a script and returns its trace. */
export function runCommand(cluster: ScriptCluster, line: string): readonly string[] {
  const text = line.split(" ").filter((word) => word !== "");
  const name = text[0] ?? "";
  const isQuiet = text.at(-1) === "quiet";
  const command = COMMANDS[name];
  if (command === undefined) throw new Error(`there is no command ${name}`);
  const argumentText = text.slice(1, isQuiet ? -1 : undefined);
  const plain = argumentText.filter((word) => !word.includes("="));
  command(cluster, {
    ids: plain.filter((word) => /^\d+$/.test(word)).map(Number),
    rest: plain.filter((word) => !/^\d+$/.test(word)),
    options: new Map(
      argumentText.flatMap((word) => {
        const at = word.indexOf("=");
        return at === -1 ? [] : [[word.slice(0, at), word.slice(at + 1)] as const];
      }),
    ),
  });
  const trace = cluster.takeTrace();
  return isQuiet ? [] : trace;
}
