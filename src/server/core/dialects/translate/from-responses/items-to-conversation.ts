/**
 * Converts the items of a `responses` request into a conversation. Source: responses reference, 3.1 and 3.2.
 *
 * The list may have any order that an agent gave it: each output is assigned to the nearest earlier call with its id and no
 * output yet, and messages between the two come after it. Items for work of the provider's own tools are left out.
 */
import type { Values } from "../../json/json-values.ts";
import {
  isAbsent,
  optionalText,
  refuse,
  requiredList,
  requiredName,
  requiredObject,
  requiredText,
} from "../required-members.ts";
import { assistantTexts, contentOf } from "./item-content.ts";
import type { Call, ClientMessage, Content, ItemConversation, Output, Round, Step } from "./item-conversation.ts";
import type { ToolNames } from "./tool-names.ts";

/** Placeholder for an image that the provider's own tool made, since the assistant's next message refers to it. */
const IMAGE_MADE = "[image generated earlier]";

interface OpenRound extends Round {
  readonly outputs: Output[];
}

interface OpenCall {
  readonly call: Call;
  isAnswered: boolean;
}

/**
 * Calls of one round that wait for their output, in order. Outputs are assigned in the same order. In lists of rounds the
 * latest is last.
 */
interface OpenCalls {
  readonly round: OpenRound;
  readonly calls: OpenCall[];
  answered: number;
}

interface Draft {
  readonly names: ToolNames;
  readonly system: Content[];
  readonly rounds: OpenRound[];
  /** Calls without an output, by id, or by name for outputs without an id. */
  readonly open: Map<string, OpenCalls[]>;
  readonly callIds: Set<string>;
  hasBegun: boolean;
  calls: number;
}

export function itemConversation(request: Values, names: ToolNames): ItemConversation {
  const draft: Draft = {
    names,
    system: [],
    rounds: [newRound()],
    open: new Map(),
    callIds: new Set(),
    hasBegun: false,
    calls: 0,
  };
  const instructions = optionalText(request["instructions"], "instructions");
  if (instructions) draft.system.push(instructions);
  const { input } = request;
  if (typeof input === "string") addClientMessage(draft, "user", input);
  else if (!isAbsent(input)) {
    if (!Array.isArray(input)) refuse("input", "must be a string or an array");
    for (const [index, item] of requiredList(input, "input").entries()) {
      addItem(draft, requiredObject(item, `input[${index}]`), `input[${index}]`);
    }
  }
  for (const { outputs } of draft.rounds) outputs.sort((one, other) => positionOf(one) - positionOf(other));
  return draft;
}

const newRound = (): OpenRound => ({ steps: [], outputs: [], messages: [] });

const positionOf = ({ call }: Output): number => call?.position ?? Number.MAX_SAFE_INTEGER;

function addItem(draft: Draft, item: Values, place: string): void {
  switch (item["type"]) {
    case undefined:
    case null:
    case "message":
      addMessage(draft, item, place);
      break;
    case "function_call":
      addCall(draft, item, optionalText(item["arguments"], `${place}.arguments`) ?? "", false, place);
      break;
    case "custom_tool_call":
      addCall(draft, item, requiredText(item["input"], `${place}.input`), true, place);
      break;
    case "function_call_output":
    case "custom_tool_call_output":
      addOutput(draft, item, place);
      break;
    case "reasoning":
      addStep(draft, {
        kind: "thought",
        sealed: optionalText(item["encrypted_content"], `${place}.encrypted_content`) || undefined,
        place,
      });
      break;
    case "image_generation_call":
      if (item["result"]) addStep(draft, { kind: "text", text: IMAGE_MADE, isRefusal: false });
      break;
    case "item_reference":
      addReference(item, place);
      break;
  }
}

function addMessage(draft: Draft, item: Values, place: string): void {
  const { role, content } = item;
  switch (role) {
    case "system":
    case "developer":
      if (draft.hasBegun) addClientMessage(draft, "system", contentOf(content, `${place}.content`));
      else draft.system.push(contentOf(content, `${place}.content`));
      break;
    case "user":
      addClientMessage(draft, "user", contentOf(content, `${place}.content`));
      break;
    case "assistant":
      for (const text of assistantTexts(content, `${place}.content`)) addStep(draft, text);
      break;
    default:
      if (role === undefined && item["type"] !== "message" && typeof item["id"] === "string") addReference(item, place);
      else refuse(`${place}.role`, "must be user, assistant, system or developer");
  }
}

/** Handles a reference to a stored item, which is refused. Only references to reasoning can be left out. */
function addReference({ id }: Values, place: string): void {
  if (typeof id === "string" && id.startsWith("rs_")) return;
  refuse(place, "refers to an item that is not stored for this model: send the item itself");
}

function addClientMessage(draft: Draft, role: ClientMessage["role"], content: Content): void {
  draft.hasBegun = true;
  lastRound(draft).messages.push({ role, content });
}

function lastRound({ rounds }: Draft): OpenRound {
  return rounds.at(-1) ?? refuse("input", "holds nothing");
}

/** Adds a step of the assistant. A step after outputs or other messages begins a new round. */
function addStep(draft: Draft, step: Step): OpenRound {
  draft.hasBegun = true;
  let round = lastRound(draft);
  if (round.outputs.length > 0 || round.messages.length > 0) {
    round = newRound();
    draft.rounds.push(round);
  }
  round.steps.push(step);
  return round;
}

function addCall(draft: Draft, item: Values, input: string, isCustom: boolean, place: string): void {
  const id = requiredName(item["call_id"], `${place}.call_id`);
  const name = requiredName(item["name"], `${place}.name`);
  const namespace = optionalText(item["namespace"], `${place}.namespace`) || undefined;
  const sent = draft.names.nameToSend({ name, namespace, isCustom });
  const call: Call = { kind: "call", id, name: sent, input, isCustom, position: draft.calls++ };
  const round = addStep(draft, call);
  const open: OpenCall = { call, isAnswered: false };
  draft.callIds.add(id);
  for (const key of [idKey(id), nameKey(sent)]) awaitOutput(draft, key, round, open);
}

function awaitOutput({ open }: Draft, key: string, round: OpenRound, call: OpenCall): void {
  const known = open.get(key) ?? [];
  open.set(key, known);
  const latest = known.at(-1);
  if (latest?.round === round) latest.calls.push(call);
  else known.push({ round, calls: [call], answered: 0 });
}

const idKey = (id: string): string => `id ${id}`;
const nameKey = (name: string): string => `name ${name}`;

function addOutput(draft: Draft, item: Values, place: string): void {
  const callId = optionalText(item["call_id"], `${place}.call_id`) || undefined;
  const answered = takeUnanswered(draft, callId === undefined ? outputKey(draft, item, place) : idKey(callId));
  if (callId === undefined && answered === undefined)
    refuse(`${place}.call_id`, "must name the call that it is the output of");
  draft.hasBegun = true;
  const id = callId ?? answered?.call.id ?? "";
  draft.callIds.add(id);
  const content = contentOf(item["output"], `${place}.output`);
  (answered?.round ?? lastRound(draft)).outputs.push({ call: answered?.call, id, content });
}

function outputKey({ names }: Draft, item: Values, place: string): string {
  const name = requiredName(item["name"], `${place}.call_id`);
  const namespace = optionalText(item["namespace"], `${place}.namespace`) || undefined;
  return nameKey(names.nameToSend({ name, namespace, isCustom: false }));
}

/** Returns the first unanswered call of the latest round that has one, and marks it as answered. */
function takeUnanswered({ open }: Draft, key: string): { readonly call: Call; readonly round: OpenRound } | undefined {
  const rounds = open.get(key);
  for (let latest = rounds?.at(-1); latest !== undefined; latest = rounds?.at(-1)) {
    for (let call = latest.calls[latest.answered++]; call !== undefined; call = latest.calls[latest.answered++]) {
      if (call.isAnswered) continue;
      call.isAnswered = true;
      return { call: call.call, round: latest.round };
    }
    rounds?.pop();
  }
  return undefined;
}
