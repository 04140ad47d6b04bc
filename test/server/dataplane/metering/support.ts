/** A meter over a real charge, fed like by the answer and forwarding code. */
import { type Dialect, type Route, SseSplitter, type Usage } from "../../../../src/server/core/dialects/index.ts";
import type { Charge } from "../../../../src/server/dataplane/budgets/index.ts";
import {
  createMeter,
  createUsageMetrics,
  type Doubt,
  type Meter,
} from "../../../../src/server/dataplane/metering/index.ts";
import { createCluster } from "../../core/budgets/cluster.ts";
import { flatOf, heldOf, openNode, ruleOf, spendingOf, startReservation, type TestNode } from "../budgets/support.ts";

export const RESERVED = 500;

interface Metered {
  readonly node: TestNode;
  readonly meter: Meter;
  /** `undefined` without a payer. */
  readonly charge: Charge | undefined;
  readonly spent: readonly (readonly [provider: string, units: number])[];
  readonly counted: readonly (Usage & { readonly provider: string; readonly model: string })[];
  tokens(kind: string, provider?: string): number;
  missing(provider?: string): number;
  unmeasured(): number;
  doubted(doubt: Doubt): number;
  /** Fields of the log lines. */
  readonly warnings: readonly Readonly<Record<string, unknown>>[];
}

interface MeteredOptions {
  readonly route?: Pick<Route, "name" | "usage">;
  readonly pays?: boolean;
  /** An unknown cost reserves one unit. */
  readonly isUnknown?: boolean;
}

export const CHAT = { name: "chat_completions", usage: "always" } as const;
export const MESSAGES = { name: "messages", usage: "always" } as const;
export const MAYBE = { name: "compat_other", usage: "maybe" } as const;

export async function metered({ route = CHAT, pays = true, isUnknown = false }: MeteredOptions = {}): Promise<Metered> {
  const node = openNode(createCluster(["n1"]));
  const rule = ruleOf(1_000_000);
  const first = startReservation(() => node.budgets.reserve(flatOf(rule, 10_000)));
  await node.exchange();
  heldOf(first).release();
  const spending = spendingOf(rule, RESERVED, isUnknown ? { demand: { kind: "atLeast", units: 1 } } : {});
  const charge = pays ? heldOf(startReservation(() => node.budgets.reserve(spending))) : undefined;
  const spent: [string, number][] = [];
  const counted: Metered["counted"][number][] = [];
  let unmeasured = 0;
  const warnings: Readonly<Record<string, unknown>>[] = [];
  const meter = createMeter({
    charge,
    route,
    label: "gpt-*",
    metrics: createUsageMetrics(node.instruments, { warn: (_, fields) => warnings.push(fields ?? {}) }, () =>
      node.monotonic(),
    ),
    onUnits: (provider, units) => spent.push([provider, units]),
    account: {
      addUsage: (usage, { provider, model }) => counted.push({ ...usage, provider, model }),
      countUnmeasured: () => {
        unmeasured += 1;
      },
      addUnits: () => undefined,
    },
  });
  return {
    node,
    meter,
    charge,
    spent,
    counted,
    tokens: (kind, provider = "p") => node.metric("gateway_tokens_total", provider, "gpt-*", kind),
    warnings,
    doubted: (doubt) => node.metric("gateway_usage_doubted_total", "p", route.name, doubt),
    unmeasured: () => unmeasured,
    missing: (provider = "p") => node.metric("gateway_usage_missing_total", provider, route.name),
  };
}

export const headers = (pairs: Readonly<Record<string, string>>): readonly string[] => Object.entries(pairs).flat();

export const JSON_ANSWER = headers({ "Content-Type": "application/json" });
export const STREAM = headers({ "content-type": "text/event-stream; charset=utf-8" });

/** One answered attempt; `body` is passed in pieces of a few bytes where the meter asks for it. */
export function answer(
  meter: Meter,
  status: number,
  head: readonly string[],
  body: string,
  dialect: Dialect = "compat",
): void {
  meter.beginAttempt({ name: "p" }, "gpt-x", dialect);
  show(meter, status, head, body);
  meter.endAnswer();
  meter.endAttempt("answered");
}

export function show(meter: Meter, status: number, head: readonly string[], body: string): void {
  const shown = meter.beginAnswer(status, head);
  const splitter = new SseSplitter();
  for (let at = 0; at < body.length; at += 7) {
    const chunk = Buffer.from(body.slice(at, at + 7));
    if (shown === "bytes") meter.readBytes(chunk);
    if (shown !== "events") continue;
    for (const { data } of splitter.push(chunk)) if (data !== undefined) meter.readEvent(data);
  }
}

export const events = (...of: readonly unknown[]): string =>
  of.map((one) => `data: ${typeof one === "string" ? one : JSON.stringify(one)}\n\n`).join("");

export const chatUsage = (prompt: number, completion: number) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
});
