/**
 * The outcome of a call as comparable data: asked directly and through the gateway, two outcomes must be equal except
 * for request counters and times, and for the headers that the gateway owns.
 */
import type { Clients, Seen } from "./simulated.ts";

interface Outcome {
  readonly result: unknown;
  readonly answers: readonly Seen[];
}

/** An SDK error with every field that a program could read. */
interface Raised {
  readonly raised: string;
  readonly message: string;
  readonly status: unknown;
  readonly code: unknown;
  readonly type: unknown;
  readonly param: unknown;
  readonly requestId: unknown;
}

export async function raisedBy(call: Promise<unknown>): Promise<Raised> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Error) return describe(error);
    throw error;
  }
  throw new Error("the call succeeded and was meant to fail");
}

function describe(error: Error): Raised {
  const facts = new Map(Object.entries(error));
  return {
    raised: error.constructor.name,
    message: error.message,
    status: facts.get("status"),
    code: facts.get("code"),
    type: facts.get("type"),
    param: facts.get("param"),
    requestId: facts.get("requestID"),
  };
}

/** Returns the items of a stream, and what ended it. */
export async function drain(
  stream: AsyncIterable<unknown>,
): Promise<{ readonly items: readonly unknown[]; readonly raised?: Raised }> {
  const items: unknown[] = [];
  try {
    for await (const item of stream) items.push(item);
  } catch (error) {
    if (error instanceof Error) return { items, raised: describe(error) };
    throw error;
  }
  return { items };
}

export async function outcomeOf(clients: Clients, run: (clients: Clients) => Promise<unknown>): Promise<Outcome> {
  const before = clients.seen.length;
  const result = await run(clients);
  return normalised({ result, answers: clients.seen.slice(before).map(withoutOurs) });
}

/** Design decisions, section 2: headers of a proxied answer that may differ. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "transfer-encoding"]);

function withoutOurs({ status, headers }: Seen): Seen {
  const kept = Object.entries(headers).filter(([name]) => {
    // The length of compressed ids varies with the ids.
    if (name === "content-length" && headers["content-encoding"] !== undefined) return false;
    return !HOP_BY_HOP.has(name) && !name.startsWith("x-gateway-");
  });
  return { status, headers: Object.fromEntries(kept) };
}

/** Keys and headers with the time of the answer. */
const TIMES = /^(created|created_at|completed_at|date|anthropic-ratelimit-(requests|tokens)-reset)$/;

/** Returns the outcome as plain data; ids that count requests are numbered in order of first appearance. */
function normalised(outcome: Outcome): Outcome {
  const serials = new Map<string, string>();
  const text = JSON.stringify(outcome, (key, value: unknown) => (TIMES.test(key) ? "a time" : value));
  const counted = text.replace(/sim\d{8}/g, (id) => {
    const known = serials.get(id) ?? `sim#${serials.size + 1}`;
    serials.set(id, known);
    return known;
  });
  return JSON.parse(counted) as Outcome;
}
