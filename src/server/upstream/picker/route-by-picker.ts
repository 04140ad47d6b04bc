/** Selects the server of a pool through its picker. Source: specification document 3, `picker`; design decisions, section 13. */
import { performance } from "node:perf_hooks";
import type { Member } from "../pools/member.ts";
import type { MemberSet } from "../pools/member-set.ts";
import { routeOver } from "../pools/round-robin.ts";
import type { PickerSpec, PoolSpec } from "../pools/spec.ts";
import type { UpstreamRequest } from "../ports.ts";
import type { PickerFeedback, Route, Routed } from "../server.ts";
import type { PickerExchange, PickFailure } from "./picker-exchange.ts";
import type { Pickers, PickOutcome } from "./pickers.ts";

export interface PickerRequest {
  readonly request: UpstreamRequest;
  readonly requestId: string | undefined;
}

export async function routeByPicker(
  { pool, picker, set }: { readonly pool: PoolSpec; readonly picker: PickerSpec; readonly set: MemberSet },
  { request, requestId }: PickerRequest,
  pickers: Pickers,
  now: () => number,
): Promise<Routed> {
  const { members } = set.roundRobin;
  const noServerReason = (): string => set.problem ?? "it has no server";
  const roundRobinRoute = (): Route => routeOver(set.roundRobin, noServerReason, now);
  if (members.length === 0) return roundRobinRoute();
  const { origin, provider } = pool;
  const begunAt = performance.now();
  const exchange = await pickers.startExchange(picker, {
    request,
    scheme: origin.slice(0, origin.indexOf(":")),
    authority: origin.slice(origin.indexOf("//") + 2),
    requestId,
    subset: set.subset === "" ? undefined : members.map(({ endpoint }) => endpoint),
    timeoutMs: picker.timeoutMs,
  });
  const pick = await exchange.pick;
  const recordOutcome = (outcome: PickOutcome): void =>
    pickers.recordOutcome(provider, outcome, performance.now() - begunAt);
  switch (pick.kind) {
    case "answered":
      recordOutcome(pick.answer.status === 429 ? "429" : "503");
      return { kind: "answered", answer: pick.answer };
    case "failed":
      recordOutcome(pick.failure);
      return picker.refusesOnError
        ? { kind: "route", next: () => undefined, noServerReason: FAILURE_TEXTS[pick.failure] }
        : roundRobinRoute();
    case "picked": {
      const picked = pick.endpoints.flatMap((endpoint) => set.memberAt(endpoint) ?? []);
      if (picked.length === 0) {
        // The picker may not name servers outside the pool; round robin is used instead.
        recordOutcome("outside");
        exchange.end(true);
        return roundRobinRoute();
      }
      recordOutcome("picked");
      return routeOver(set.roundRobin, noServerReason, now, {
        preferred: picked,
        isExclusive: picker.refusesOnError,
        model: pick.model,
        feedback: createFeedback(exchange, () => pickers.recordOutcome(provider, "evicted")),
      });
    }
    default:
      return pick satisfies never;
  }
}

const FAILURE_TEXTS: Readonly<Record<PickFailure, string>> = {
  late: "its picker did not decide in time",
  unreachable: "its picker cannot be reached",
  violation: "its picker's answer cannot be used",
  refused: "its picker refused the request",
};

function createFeedback(exchange: PickerExchange, onEvicted: () => void): PickerFeedback {
  return {
    reportAnswer: (status, contentType, server) =>
      exchange.reportAnswer(status, contentType, (server as Member).endpoint),
    end: (isAborted) => exchange.end(isAborted),
    onEvicted(listener) {
      exchange.onEvicted = (answer) => {
        onEvicted();
        listener(answer);
      };
    },
  };
}
