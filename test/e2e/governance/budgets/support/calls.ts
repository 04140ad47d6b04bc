/** One request from its client's side: sent, read or left, with the usage that its answer reports. */
import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import type { Simulator } from "../../../../../src/simulator/index.ts";
import { until } from "../../../cluster/support/until.ts";
import type { Document } from "../../../support/config.ts";
import type { Member } from "./members.ts";
import type { Plan } from "./plans.ts";

/**
 *   completed     the whole answer was read
 *   broken        it began well and did not reach its end
 *   left          the client disconnected
 *   failed        an error status, of the provider or of the gateway
 *   refused       by the budget
 *   unreachable   the gateway's process is gone
 */
export type End = "completed" | "broken" | "left" | "failed" | "refused" | "unreachable";

export interface Called {
  readonly plan: Plan;
  readonly key: string;
  readonly member: string;
  readonly end: End;
  /** Status of the answer; `undefined` if none began. */
  readonly status: number | undefined;
  /** Code of the gateway's refusal. */
  readonly code: string | undefined;
  readonly headers: Headers | undefined;
  /** Total of the last usage that the client saw; `undefined` for none. */
  readonly reportedUsage: number | undefined;
  /** Stream events that the client has read. */
  readonly events: number;
}

export interface CallOptions {
  readonly member: Member;
  /** Name and text of the key. */
  readonly key: { readonly name: string; readonly text: string };
  readonly simulator: Simulator;
}

/** Longer than an election on a busy machine. */
const DECIDED_MS = 60_000;

export async function call(plan: Plan, options: CallOptions): Promise<Called> {
  const { member, key, simulator } = options;
  const leaving = new AbortController();
  const hearing = receive(plan, options, leaving);
  let isOver = false;
  const left = leave(plan, leaving, () => isOver || simulator.counts().byModel[plan.model] !== undefined);
  const { status, headers, text, isWhole } = await hearing;
  isOver = true;
  await left;
  const isStream = status === 200 && plan.streams;
  const code = status === undefined || status < 400 ? undefined : codeOf(text);
  return {
    plan,
    key: key.name,
    member: member.id,
    status,
    headers,
    code,
    reportedUsage: usagesIn(text, isStream).at(-1),
    events: isStream ? text.split("\ndata: ").length : 0,
    end: endOf({ plan, status, code, text, isWhole, hasLeft: leaving.signal.aborted }),
  };
}

interface Received {
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  /** Text that arrived. */
  readonly text: string;
  readonly isWhole: boolean;
}

/** Uses a connection of its own, so that a client that disconnects does not affect another. */
function receive(plan: Plan, { member, key }: CallOptions, leaving: AbortController): Promise<Received> {
  return new Promise((resolve) => {
    let answer: IncomingMessage | undefined;
    const chunks: Buffer[] = [];
    const ended = (isWhole: boolean): void => {
      const { statusCode: status, headers } = answer ?? {};
      resolve({
        status,
        headers: headers && new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)])),
        text: Buffer.concat(chunks).toString("utf8"),
        isWhole,
      });
    };
    const asking = request(member.gateway.url + plan.path, {
      method: "POST",
      agent: false,
      signal: leaving.signal,
      headers: {
        "content-type": "application/json",
        // Usage must be read even if the client accepts gzip.
        "accept-encoding": "gzip",
        authorization: `Bearer ${key.text}`,
        ...plan.headers,
      },
    });
    asking.on("error", () => ended(false));
    asking.on("response", (response) => {
      answer = response;
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (plan.leaving === "within the answer") leaving.abort();
      });
      response.on("error", () => ended(false));
      response.on("close", () => ended(response.complete && !leaving.signal.aborted));
    });
    asking.end(JSON.stringify(plan.body));
  });
}

async function leave({ leaving }: Plan, aborting: AbortController, isHeard: () => boolean): Promise<void> {
  if (leaving === "at once") aborting.abort();
  if (leaving !== "when it is heard") return;
  await until("the request at the provider, or its refusal", isHeard);
  aborting.abort();
}

/** Retries like an SDK while the budget is unavailable. `onRetry` is called before each retry. */
export async function callUntilDecided(plan: Plan, options: CallOptions, onRetry: () => void): Promise<Called> {
  return until(
    "a decision of the budget",
    async () => {
      const called = await call(plan, options);
      if (called.code !== "budget_unavailable") return called;
      assertUnavailable(called);
      onRetry();
      return undefined;
    },
    DECIDED_MS,
  );
}

export function assertUnavailable({ status, code, headers, member }: Called): void {
  assert.deepEqual([status, code, headers?.get("retry-after")], [503, "budget_unavailable", "1"], `on ${member}`);
  assert.equal(headers?.get("x-should-retry"), null);
}

interface Seen {
  readonly plan: Plan;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly text: string;
  readonly isWhole: boolean;
  readonly hasLeft: boolean;
}

function endOf({ plan, status, code, text, isWhole, hasLeft }: Seen): End {
  if (isWhole && status === 200) return isComplete(plan, text) ? "completed" : "broken";
  if (isWhole) return code === "budget_exhausted" || code === "budget_unavailable" ? "refused" : "failed";
  if (hasLeft) return "left";
  return status === undefined ? "unreachable" : "broken";
}

/** Whether the text has the end marker of its dialect. */
function isComplete({ shape, streams }: Plan, text: string): boolean {
  if (!streams) return objectIn(text) !== undefined;
  if (shape === "messages") return text.includes("event: message_stop\n");
  if (shape === "responses") return text.includes("event: response.completed\n");
  return text.includes("data: [DONE]\n");
}

/** Totals in reported order. */
function usagesIn(text: string, isStream: boolean): readonly number[] {
  const objects = isStream
    ? text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [objectIn(line.slice(6))] : []))
    : [objectIn(text)];
  return objects.flatMap((object) => {
    const usage = usageIn(object);
    return usage === undefined ? [] : [totalOf(usage)];
  });
}

function usageIn(object: Document | undefined): Document | undefined {
  if (object === undefined) return undefined;
  const nested = [object, object["message"], object["response"]] as readonly (Document | undefined)[];
  for (const each of nested) {
    const usage = each?.["usage"];
    if (typeof usage === "object" && usage !== null) return usage as Document;
  }
  return undefined;
}

function totalOf(usage: Document): number {
  const count = (name: string): number => Number(usage[name] ?? 0);
  if (usage["total_tokens"] !== undefined) return count("total_tokens");
  const input = count("input_tokens") + count("cache_creation_input_tokens") + count("cache_read_input_tokens");
  return input + count("output_tokens");
}

function codeOf(text: string): string | undefined {
  const error = objectIn(text)?.["error"] as Document | undefined;
  return typeof error?.["code"] === "string" ? error["code"] : undefined;
}

function objectIn(text: string): Document | undefined {
  try {
    return JSON.parse(text) as Document;
  } catch {
    return undefined;
  }
}
