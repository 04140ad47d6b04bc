/** Keeps the state that serving the Responses API from providers without it requires: seals, ids, and the memory of items. */
import { createSemaphore, GatewayError, type Instruments } from "../../../base/index.ts";
import { createItemMemory } from "./item-memory.ts";
import { type CreateReasoningSeal, createSealFactory, type SealKey, sealKeysOf } from "./reasoning-seals.ts";
import { newSeed, parseGeneratedId, tagOf } from "./response-ids.ts";

/** Question that one node asks another about the items of a caller. */
type ItemQuestion =
  | { readonly kind: "items"; readonly caller: string; readonly ids: readonly string[] }
  | { readonly kind: "forget"; readonly caller: string; readonly id: string };

export interface Responses {
  readonly sealFor: CreateReasoningSeal;
  /** Returns a unique seed for the ids of one answer. */
  seed(): string;
  /** Remembers an item. `item`: JSON text. */
  remember(caller: string, id: string, item: string): void;
  /**
   * Returns the items that any node remembers, as JSON text by id. Each node has a quarter of a second to answer; if a reachable
   * one does not, rejects with `overloaded`, since the client may try again.
   */
  recall(caller: string, ids: readonly string[], signal: AbortSignal): Recalled | Promise<Recalled>;
  /** Forgets a response. Resolves to whether anything was remembered; rejects like `recall`. */
  forget(caller: string, id: string, signal: AbortSignal): Promise<boolean>;
  /** Answers a question of another node. Returns `undefined` if the question is unknown. */
  answer(question: unknown): Buffer | undefined;
}

type Recalled = ReadonlyMap<string, string>;

interface ResponsesOptions {
  readonly nodeId: string;
  /** Keys of the deployment, the current one first; `undefined` if it has none. */
  readonly keys: readonly SealKey[] | undefined;
  /** Size of the item memory in bytes; 0 disables it. */
  readonly memoryBytes: number;
  /** Other nodes; `undefined` if there are none. */
  readonly others?: OtherNodes | undefined;
  /** Whether other worker processes of this node remember items; a question to the node itself reaches them. */
  readonly hasSiblings?: boolean | undefined;
  /** Returns the time of a monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly instruments: Instruments;
}

export interface OtherNodes {
  /** Returns the reachable nodes of the cluster, with this one. */
  nodeIds(): readonly string[];
  /** Asks a node. Resolves to `undefined` if there is no answer in time. Rejects only with the signal's reason. */
  ask(
    nodeId: string,
    question: unknown,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<Uint8Array | undefined>;
}

const ASK_TIMEOUT_MS = 250;
/** Time after which a missing answer is a late one, in milliseconds. A refused connection takes a few. */
const LATE_MS = 0.9 * ASK_TIMEOUT_MS;
/**
 * Maximum number of concurrent questions; others wait. It is low, because other nodes answer few at a time and operators' queries
 * use the same path.
 */
const MAX_ASKING = 8;
/** Maximum size of an answer to another node, in bytes of UTF-8. Items beyond it must be sent by the client itself. */
const MAX_PEER_ANSWER_BYTES = 2_000_000;

export function createResponses(options: ResponsesOptions): Responses {
  const { nodeId, keys, memoryBytes, others, hasSiblings = false, now, instruments } = options;
  const tag = tagOf(nodeId);
  const memory = createItemMemory({ maxBytes: memoryBytes, now });
  instruments.observedGauge(
    "gateway_response_items_bytes",
    "Bytes of stored response items, which later requests can refer to.",
    () => memory.bytes(),
  );
  const references = instruments.counter(
    "gateway_item_references_total",
    "References to items of earlier responses, by whether the item was still stored.",
    ["outcome"],
  );
  const found = references.with("found");
  const missed = references.with("missed");
  const asking = createSemaphore({ permits: MAX_ASKING, refusal: unansweredError });

  function itemsHere(caller: string, ids: readonly string[]): Map<string, string> {
    const items = new Map<string, string>();
    for (const id of ids) {
      const item = memory.recall(caller, id);
      if (item !== undefined) items.set(id, item);
    }
    return items;
  }

  function countItems(items: Recalled, asked: number): Recalled {
    found.inc(items.size);
    missed.inc(asked - items.size);
    return items;
  }

  /** Groups ids by the node to ask: the one that generated them. This node is only included if it has other worker processes. */
  function idsByNode(ids: readonly string[]): ReadonlyMap<string, readonly string[]> {
    const byNode = new Map<string, string[]>();
    for (const other of others?.nodeIds() ?? []) {
      if (other === nodeId && !hasSiblings) continue;
      const theirs = tagOf(other);
      const made = ids.filter((id) => parseGeneratedId(id)?.tag === theirs);
      if (made.length > 0) byNode.set(other, made);
    }
    return byNode;
  }

  async function askNodes(
    questions: Iterable<readonly [node: string, question: ItemQuestion]>,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[]> {
    const answers = await Promise.all(Array.from(questions, ([node, question]) => askNode(node, question, signal)));
    return answers.filter((it) => it !== undefined);
  }

  function askNode(node: string, question: ItemQuestion, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const ask = async () => {
      const startedAt = now();
      const answer = await others?.ask(node, question, { timeoutMs: ASK_TIMEOUT_MS, signal });
      if (answer === undefined && now() - startedAt >= LATE_MS) throw unansweredError();
      return answer;
    };
    return asking.run(ask, { signal, waitMs: ASK_TIMEOUT_MS });
  }

  return {
    sealFor: createSealFactory(sealKeysOf(keys)),
    seed: () => newSeed(tag),
    remember: memory.remember,
    recall(caller, ids, signal) {
      const items = itemsHere(caller, ids);
      const byNode = items.size === ids.length ? NOBODY : idsByNode(ids.filter((id) => !items.has(id)));
      if (byNode.size === 0) return countItems(items, ids.length);
      const questions = Array.from(byNode, ([node, theirs]) => [node, { kind: "items", caller, ids: theirs }] as const);
      return askNodes(questions, signal).then((answers) => {
        for (const answer of answers)
          for (const [id, item] of itemsIn(answer)) if (ids.includes(id)) items.set(id, item);
        return countItems(items, ids.length);
      });
    },
    async forget(caller, id, signal) {
      if (forgetHere(caller, id)) return true;
      const questions = Array.from(idsByNode([id]).keys(), (node) => [node, { kind: "forget", caller, id }] as const);
      return (await askNodes(questions, signal)).some((answer) => Buffer.from(answer).toString() === "true");
    },
    answer(asked) {
      const question = readItemQuestion(asked);
      if (question === undefined) return undefined;
      if (question.kind === "forget") return Buffer.from(String(forgetHere(question.caller, question.id)));
      const items = itemsHere(question.caller, question.ids);
      let encoded = Buffer.from(JSON.stringify([...items]));
      for (const id of question.ids) {
        if (encoded.length <= MAX_PEER_ANSWER_BYTES) break;
        items.delete(id);
        encoded = Buffer.from(JSON.stringify([...items]));
      }
      return encoded;
    },
  };

  function forgetHere(caller: string, id: string): boolean {
    const seed = parseGeneratedId(id)?.seed;
    return seed !== undefined && memory.forget(caller, (item) => parseGeneratedId(item)?.seed === seed);
  }
}

const unansweredError = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "A process of the gateway did not say in time whether it stores an item that the request refers to. Try again.",
  );

const NOBODY: ReadonlyMap<string, readonly string[]> = new Map();

/** Parses the answer of another member, which may run another version. */
function itemsIn(answer: Uint8Array): readonly (readonly [id: string, item: string])[] {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(answer).toString("utf8"));
  } catch {
    return [];
  }
  if (!Array.isArray(value)) return [];
  return value.filter(isPair);
}

const isPair = (it: unknown): it is readonly [string, string] =>
  Array.isArray(it) && it.length === 2 && it.every((text) => typeof text === "string");

function readItemQuestion(value: unknown): ItemQuestion | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { kind, caller, ids, id } = value as Readonly<Record<string, unknown>>;
  if (typeof caller !== "string") return undefined;
  if (kind === "forget" && typeof id === "string") return { kind, caller, id };
  const isList = Array.isArray(ids) && ids.every((it): it is string => typeof it === "string");
  return kind === "items" && isList ? { kind, caller, ids } : undefined;
}
