/** Text of a scripted case's trace: messages, entries, configurations and states, one per line. */

import {
  type ConfChange,
  type Configuration,
  decodeConfChange,
  type Entry,
  type Message,
  type RaftStatus,
  type SnapshotMeta,
} from "../../../../src/server/core/raft/index.ts";

const decode = (data: Uint8Array) => new TextDecoder().decode(data);

/** Returns `term/index "data"`. */
export function entryText(entry: Entry): string {
  const at = `${entry.term}/${entry.index}`;
  if (entry.kind === "conf-change") return `${at} ${changeText(decodeConfChange(entry.data))}`;
  return `${at} "${decode(entry.data)}"`;
}

const LETTERS = { "add-node": "v", "add-learner": "l", "remove-node": "r" } as const;

export function changeText({ transition, changes }: ConfChange): string {
  if (changes.length === 0) return "leave";
  const words = changes.map(({ type, nodeId }) => `${LETTERS[type]}${nodeId}`).join(" ");
  return transition === "auto" ? `{${words}}` : `{${words} ${transition}}`;
}

/** Uses the literature's notation: incoming voters, `&&` and the outgoing ones while joint. */
export function configurationText(configuration: Configuration): string {
  const { voters, votersOutgoing, learners, learnersNext, autoLeave } = configuration;
  const list = (ids: readonly unknown[]) => `(${ids.join(" ")})`;
  return [
    `voters=${list(voters)}`,
    votersOutgoing.length > 0 ? `&&${list(votersOutgoing)}` : "",
    learners.length > 0 ? ` learners=${list(learners)}` : "",
    learnersNext.length > 0 ? ` learners-next=${list(learnersNext)}` : "",
    autoLeave ? " auto-leave" : "",
  ].join("");
}

export function snapshotText({ term, index, configuration }: SnapshotMeta): string {
  return `snapshot ${term}/${index} ${configurationText(configuration)}`;
}

export function messageText(message: Message): string {
  const { type, from, to, term, logTerm, index, commit, reject, transfer, hintIndex, hintTerm } = message;
  const { context, entries, snapshot } = message;
  const isVote = type === "MsgVote" || type === "MsgPreVote";
  const hasPlace = type === "MsgApp" || isVote;
  return [
    `${from}->${to} ${type}`,
    term > 0 ? ` term=${term}` : "",
    hasPlace ? ` log=${logTerm}/${index}` : index > 0 ? ` index=${index}` : "",
    commit > 0 ? ` commit=${commit}` : "",
    transfer ? " transfer" : "",
    reject ? " reject" : "",
    reject && type === "MsgAppResp" ? ` hint=${hintTerm}/${hintIndex}` : "",
    context === undefined || isContents(type) ? "" : ` context=${contextText(type, context)}`,
    entries.length > 0 ? ` [${entries.map(entryText).join(", ")}]` : "",
    snapshot === undefined ? "" : ` ${snapshotText(snapshot)}`,
  ].join("");
}

/** For appends and their answers: it is as long as the log, and is irrelevant unless two logs differ. */
const isContents = (type: Message["type"]): boolean => type === "MsgApp" || type === "MsgAppResp";

function contextText(type: Message["type"], context: Uint8Array): string {
  if (type !== "MsgHeartbeat" && type !== "MsgHeartbeatResp") return decode(context);
  return `${new DataView(context.buffer, context.byteOffset, 8).getBigUint64(0)}`;
}

export function stateText({ id, role, term, vote, lead, commit, lastIndex }: RaftStatus): string {
  return `${id} ${role} term=${term} vote=${vote ?? "-"} lead=${lead ?? "-"} commit=${commit} last=${lastIndex}`;
}

export function progressTexts({ progress }: RaftStatus): readonly string[] {
  return [...progress]
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([id, { state, match, next, pendingSnapshot, inflightMessages, paused, recentActive, isLearner }]) =>
      [
        `${id}: ${state} match=${match} next=${next}`,
        isLearner ? " learner" : "",
        paused ? " paused" : "",
        pendingSnapshot > 0 ? ` pending-snapshot=${pendingSnapshot}` : "",
        inflightMessages > 0 ? ` inflight=${inflightMessages}` : "",
        recentActive ? "" : " inactive",
      ].join(""),
    );
}
