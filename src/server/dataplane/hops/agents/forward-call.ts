/** Forwards a call to its MCP server or agent. A call may have an effect, so there is one attempt and no failover. */
import { performance } from "node:perf_hooks";
import { awaitCompletion } from "../../../../base/index.ts";
import {
  type AttemptReport,
  type ForwardOptions,
  forward,
  forwardTargetOf,
  isFailure,
  type RequestCaller,
  type UpstreamRequest,
} from "../../../upstream/index.ts";
import type { Charge } from "../../budgets/index.ts";
import { callerLabels } from "../../caller-label.ts";
import { attemptErrorOf, failureAttributes, withSpanNaming } from "../../conventions/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { Ports } from "../../ports.ts";
import type { RequestReport } from "../../request-report.ts";
import { logUpstreamFault } from "../../upstream-faults.ts";
import type { AgentAnswer } from "./agent-answer.ts";
import type { AgentCall } from "./agent-call.ts";

interface ForwardCallOptions {
  readonly outgoing: UpstreamRequest;
  readonly answer: AgentAnswer;
  readonly charge: Charge | undefined;
  /** Caller whose token is exchanged; `undefined` without token exchange. */
  readonly acting: RequestCaller | undefined;
  readonly exchange: Exchange;
  readonly ports: Ports;
}

/** Resolves once the answer has been delivered or the client has left. Rejects with the refusal. */
export function forwardCall({ fronted }: AgentCall, options: ForwardCallOptions): Promise<void> {
  const { outgoing, answer, charge, acting, exchange, ports } = options;
  const provider = forwardTargetOf(fronted);
  const candidate = {
    provider,
    channel: fronted.channel,
    model: "",
    prepare: () => ({
      request: outgoing,
      downstream: answer,
      ...{ decodes: true, checksForError: false, mapsErrors: false, correctsContentType: false },
    }),
  };
  exchange.upstream.displayName = provider.noun;
  const statistics = ports.statistics?.of(provider.name);
  const { report, upstream } = exchange;
  const { agentCall, span } = report;
  let begunAt = 0;
  const forwarding: ForwardOptions<typeof candidate> = {
    candidates: {
      at: (position) => (position === 0 ? candidate : undefined),
      mayExist: (position) => position === 0,
      failoverWhen: undefined,
    },
    deadlineMs: Number.POSITIVE_INFINITY,
    origins: ports.origins,
    presenter: ports.presenter,
    tokenExchangeCaller: acting,
    onPresented: (bears) => {
      upstream.containsCredential = bears;
    },
    downstream: exchange,
    onAttempt: () => {
      begunAt = performance.now();
      statistics?.beginAttempt(false);
      report.attempts++;
      charge?.attempt({ model: "", backend: provider.name });
    },
    onAnswer: (ms) => statistics?.recordAnswer(ms),
    onAttemptEnd: (_, attempt) => {
      recordAttempt(provider.name, attempt, performance.now() - begunAt, { report, ports });
      statistics?.endAttempt();
      // A server that could not be reached has done nothing, so nothing is charged.
      if (attempt.result === "connect" || attempt.result === "refused") return;
      const before = charge?.spent ?? 0;
      charge?.settle(undefined);
      statistics?.addUnits((charge?.spent ?? 0) - before);
    },
    onWait: (ms) => exchange.addWaitMs(ms),
    holdMs: 0,
    passesRedirects: false,
    tracer:
      span &&
      withSpanNaming(
        span,
        () => agentCall?.spanNaming,
        () => failureAttributes(agentCall?.failure),
      ),
  };
  return awaitCompletion((done) => forward(forwarding, done));
}

/** Counts an attempt, and logs and records its failure. */
function recordAttempt(
  upstream: string,
  { result, status, failedAfterMs, error, reason }: AttemptReport,
  elapsedMs: number,
  { report, ports }: { readonly report: RequestReport; readonly ports: Ports },
): void {
  const { agentCall, requestId: request, labels } = report;
  ports.metrics.countAttempt(upstream, result);
  if (agentCall?.mcpMethod !== undefined) {
    const failure = agentCall.failure ?? attemptErrorOf(result, status);
    ports.metrics.conventions.recordMcpAttempt(agentCall.mcpMethod, elapsedMs / 1_000, failure);
  }
  if (!isFailure(result)) return;
  if (reason !== "") {
    logUpstreamFault(ports.log, { upstream, route: labels.route, request, kind: result, status, reason });
  }
  const callerFields = callerLabels(report, undefined);
  const failure = { kind: result, status, attempt: 1, movedTo: null, reason, ...callerFields };
  ports.statistics?.of(upstream)?.recordFailure({ ...failure, durationMs: failedAfterMs, error });
}
