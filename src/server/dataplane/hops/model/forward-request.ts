/**
 * Forwards an admitted request: builds the candidates, measures each attempt, and assembles the stages that an answer passes on
 * its way to the client.
 */
import type { CompletionCallback } from "../../../../base/index.ts";
import { type Dialect, type Route, responsesFailure, type StreamTranslation } from "../../../core/dialects/index.ts";
import type { RequestMemory } from "../../../memory/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import {
  type Candidate,
  type Candidates,
  type Downstream,
  type FailureKind,
  type ForwardOptions,
  forward,
  isFailure,
} from "../../../upstream/index.ts";
import { callerLabels } from "../../caller-label.ts";
import { clientTimeoutOf } from "../../client-timeout.ts";
import { attemptErrorOf } from "../../conventions/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import type { Meter, RequestUse } from "../../metering/index.ts";
import type { Ports } from "../../ports.ts";
import { responsesForm } from "../../refusal-form.ts";
import type { ProviderStatistics } from "../../statistics.ts";
import { logUpstreamFault } from "../../upstream-faults.ts";
import { HEARTBEAT_MS, withHeartbeat } from "../heartbeat.ts";
import type { AdmittedProvider, AdmittedProviders } from "./admit.ts";
import type { AnswerInspection, InspectedDownstream } from "./answer-record.ts";
import { attemptTracer, traceAnswer } from "./attempt-tracing.ts";
import { removedLosses } from "./choose-channel.ts";
import { foldedForm, foldStream } from "./folded-answer.ts";
import { inspectAnswer } from "./inspect-answer.ts";
import { allowedModels, mergeModels, withModelId } from "./models-list.ts";
import { itemRecorderFor, type ResponseCaller } from "./own-responses.ts";
import { type ClientRequest, prepareRequest } from "./prepare-request.ts";
import { prepareTranslated } from "./prepare-translated.ts";
import { recordShownItems } from "./record-shown-items.ts";
import type { Target } from "./resolve-target.ts";
import { rewriteAnswer } from "./rewrite-answer.ts";
import { type ItemRecorder, translateAnswer } from "./translate-answer.ts";
import type { TranslatedCall } from "./translated-call.ts";

export interface ForwardingOptions {
  readonly exchange: Exchange;
  /** Receiver of answers: the exchange, or a stage in front of it. */
  readonly downstream: Downstream;
  readonly target: Target;
  readonly snapshot: Snapshot;
  readonly effective: EffectiveProfile;
  readonly meter: Meter | undefined;
  /** Entry of the usage ledger; `undefined` if none is kept. */
  readonly usage: RequestUse | undefined;
  /** Memory account of the request. */
  readonly memory: RequestMemory;
  /** Caller of the Responses API; `undefined` for other requests. */
  readonly responseCaller: ResponseCaller | undefined;
  readonly ports: Ports;
  /** Inspection of the answer; `undefined` if guardrails do not inspect it. */
  readonly answerInspection?: AnswerInspection | undefined;
}

/**
 * Returns the receiver of a candidate's answer. `recorder` receives the items of the answer as they are sent to the client.
 */
type CreateReceiver = (isTranslated: boolean, recorder?: ItemRecorder) => Downstream;

/**
 * Forwards the request. `onDone` is called once: when the answer was delivered and inspected, when the client left, or with the
 * refusal.
 */
export function forwardRequest(
  admitted: AdmittedProviders,
  forwarding: ForwardingOptions,
  onDone: CompletionCallback,
): void {
  const { exchange, downstream, target, meter, usage, ports, answerInspection } = forwarding;
  const { report, upstream } = exchange;
  let statistics: ProviderStatistics | undefined;
  let inspected: InspectedDownstream | undefined;
  let begunAt = 0;
  /** Whether the answer of the current attempt could not be read. */
  let isUnreadable = false;
  const logFault = (kind: FailureKind, reason: string, status: number | null): void =>
    logUpstreamFault(ports.log, {
      upstream: report.labels.provider,
      route: report.labels.route,
      request: report.requestId,
      kind,
      status,
      reason,
    });
  const onUnreadable = (reason: string): void => {
    isUnreadable = true;
    logFault("invalid", reason, null);
    statistics?.recordFailure({
      kind: "invalid",
      status: null,
      attempt: report.attempts,
      movedTo: null,
      ...callerLabels(report, target.model),
      durationMs: performance.now() - begunAt,
      error: undefined,
      reason,
      wasAnswered: true,
    });
  };
  const { heartbeatMs = HEARTBEAT_MS } = ports;
  const client: CreateReceiver = (isTranslated, recorder) => {
    if (answerInspection === undefined) return isTranslated ? withHeartbeat(downstream, heartbeatMs) : downstream;
    const kept = withHeartbeat(downstream, heartbeatMs);
    const shown = recorder === undefined ? kept : recordShownItems(kept, recorder);
    inspected = inspectAnswer(shown, exchange, answerInspection);
    return inspected;
  };
  const options: ForwardOptions = {
    candidates: candidatesOf(admitted, forwarding, client),
    deadlineMs: clientTimeoutOf(exchange.request) ?? Number.POSITIVE_INFINITY,
    origins: ports.origins,
    requestId: exchange.requestId,
    presenter: ports.presenter,
    onPresented: (bears) => {
      upstream.containsCredential = bears;
    },
    downstream,
    onAttempt: ({ provider, model, channel }, isRetry) => {
      const { labels } = report;
      begunAt = performance.now();
      isUnreadable = false;
      upstream.displayName = `Provider ${provider.name}`;
      upstream.onUnreadable = onUnreadable;
      usage?.recordAttempt(provider.name, model);
      // This also counts the usage of the previous attempt, which belongs to its own provider.
      meter?.beginAttempt(provider, model, channel.dialect);
      statistics = ports.statistics?.of(provider.name, labels.model);
      statistics?.beginAttempt(isRetry);
      if (isRetry) ports.metrics.countRetry(provider.name);
      else if (labels.provider !== provider.name) {
        ports.metrics.countFailover(labels.provider, provider.name);
        ports.statistics?.of(labels.provider)?.countFailoverOut();
        statistics?.countFailoverIn();
        report.labels = ports.metrics.labels(labels.route, provider.name, labels.model, provider.maker);
      }
      report.attempts++;
    },
    onAnswer: (ms) => statistics?.recordAnswer(ms),
    onDecoding: () => {
      if (inspected !== undefined) inspected.isDecoded = true;
    },
    onAttemptEnd: (provider, outcome) => {
      const { status, nextTarget, reason } = outcome;
      const result = isUnreadable && !isFailure(outcome.result) ? "invalid" : outcome.result;
      const seconds = (performance.now() - begunAt) / 1_000;
      ports.metrics.countAttempt(provider.name, result);
      ports.metrics.conventions.recordAttempt(report.labels, seconds, attemptErrorOf(result, status));
      if (reason !== "" && isFailure(result)) logFault(result, reason, status);
      if (isFailure(outcome.result)) {
        statistics?.recordFailure({
          kind: outcome.result,
          status,
          attempt: report.attempts,
          movedTo: nextTarget?.name ?? null,
          ...callerLabels(report, target.model),
          durationMs: outcome.failedAfterMs,
          error: outcome.error,
          reason,
        });
      }
      statistics?.endAttempt();
      meter?.endAttempt(outcome.result, outcome);
    },
    onWait: (ms) => exchange.addWaitMs(ms),
    holdMs: heartbeatMs === 0 ? 0 : Math.min(heartbeatMs, HEARTBEAT_MS),
    passesRedirects: ports.governancePorts === undefined && answerInspection === undefined,
    tracer: attemptTracer({ report, target }, meter),
  };
  forward(options, (error) => {
    // The provider may have finished before the inspection has.
    const judged = error === undefined ? inspected?.whenFinished() : undefined;
    if (judged === undefined) onDone(error);
    else judged.then(() => onDone(), onDone);
  });
}

/** Lets a failing stream end with frames that continue those already sent. Only used if guardrails hold nothing back. */
const continueFailedStream =
  (exchange: Exchange, dialect: Dialect) =>
  (stream: StreamTranslation): void => {
    exchange.form = responsesForm(dialect, (failure) => stream.endWithFailure?.(failure) ?? responsesFailure(failure));
  };

function candidatesOf(admitted: AdmittedProviders, forwarding: ForwardingOptions, client: CreateReceiver): Candidates {
  return {
    at(position) {
      const one = admitted.at(position);
      const mayMove = one?.provider.retry !== undefined || admitted.mayExist(position + 1);
      return one && candidateFor(one, forwarding, client, mayMove);
    },
    mayExist: (position) => admitted.mayExist(position),
    failoverWhen: admitted.failoverWhen,
  };
}

/**
 * Returns the method of the upstream request. HEAD of a models route becomes GET, because the answer's length is only known after
 * it was read and some providers do not support HEAD there.
 */
const upstreamMethod = ({ name }: Route, method: string): string =>
  method === "HEAD" && (name === "models" || name === "model") ? "GET" : method;

/**
 * Returns whether an answer of the route may report an error inside a success status. This applies to answers that a model
 * generates and to models lists; files, stored objects and unknown paths may contain error objects of their own.
 */
const mayReportError = ({ usage, form, modelRequired, name }: Route): boolean =>
  name === "models" || (name !== "compat_other" && (usage !== "none" || form !== undefined || modelRequired));

/** Returns whether the gateway governs the request or pays for it. Answers of other requests pass byte for byte. */
const isGovernedOrPaid = (
  { channel }: AdmittedProvider,
  { ports, answerInspection, meter }: ForwardingOptions,
): boolean =>
  ports.governancePorts !== undefined ||
  answerInspection !== undefined ||
  meter !== undefined ||
  channel.credential !== undefined;

/** Builds a candidate. `mayBeRepeated`: another attempt may follow. */
function candidateFor(
  admitted: AdmittedProvider,
  forwarding: ForwardingOptions,
  client: CreateReceiver,
  mayBeRepeated: boolean,
): Candidate {
  const { exchange, effective, ports } = forwarding;
  const { provider, channel, model = "", losses, translated } = admitted;
  return {
    provider,
    channel,
    model,
    subset: effective.profile.poolSubset,
    prepare() {
      exchange.upstream.fidelityLosses = removedLosses(losses, translated !== undefined);
      for (const { capability } of losses) ports.metrics.countFidelityLoss(provider.name, capability);
      return translated === undefined
        ? prepareDirect(admitted, forwarding, client, mayBeRepeated)
        : prepareTranslation(admitted, translated, forwarding, client);
    },
  };
}

type PreparedAttempt = ReturnType<Candidate["prepare"]>;

/** Prepares an attempt at a channel of another dialect: the request is translated already, and its answer is translated back. */
function prepareTranslation(
  admitted: AdmittedProvider,
  translated: TranslatedCall,
  forwarding: ForwardingOptions,
  client: CreateReceiver,
): PreparedAttempt {
  const { exchange, target, meter, memory, responseCaller, answerInspection } = forwarding;
  const { dialect, route, streams } = target;
  const { requestId, answerMemory } = exchange;
  const recorder = responseCaller && itemRecorderFor(responseCaller, target);
  const to = client(true, recorder);
  memory.hold(translated.body.length);
  const downstream = translateAnswer(to, {
    dialect,
    answerReader: translated.answerReader,
    extend: modelsListEdit(forwarding) ?? modelIdEdit(admitted, target),
    streams,
    requestId,
    // With guardrails, only released items are remembered.
    recorder: answerInspection === undefined ? recorder : recorder && { ...recorder, remember: undefined },
    onStreamBegin:
      responseCaller && answerInspection === undefined ? continueFailedStream(exchange, dialect) : undefined,
    meter,
    answerMemory,
    now: Date.now,
    onWait: (ms) => exchange.addWaitMs(ms),
  });
  return {
    request: prepareTranslated(clientRequestOf(forwarding), admitted, translated, streams),
    downstream: traceAnswer(downstream, admitted, { report: exchange.report, target }),
    decodes: true,
    checksForError: true,
    mapsErrors: true,
    correctsContentType: route.form !== undefined,
  };
}

/** Prepares an attempt at a channel of the client's dialect. Its answer is only parsed if something depends on the content. */
function prepareDirect(
  admitted: AdmittedProvider,
  forwarding: ForwardingOptions,
  client: CreateReceiver,
  mayBeRepeated: boolean,
): PreparedAttempt {
  const { exchange, target, meter, memory, answerInspection } = forwarding;
  const { route, streams } = target;
  const { answerMemory } = exchange;
  const to = client(false);
  const listEdit = modelsListEdit(forwarding);
  const extend = listEdit ?? modelIdEdit(admitted, target);
  const mapsErrors = isGovernedOrPaid(admitted, forwarding);
  const checksForError = (meter !== undefined || mayBeRepeated || mapsErrors) && mayReportError(route);
  const reads = listEdit !== undefined || meter !== undefined || (mayBeRepeated && checksForError);
  const inspects = answerInspection !== undefined;
  const prepared = prepareRequest(clientRequestOf(forwarding), target, admitted, { reads, inspects });
  const { body } = prepared.request;
  if (body !== null && body !== target.original) memory.hold(body.length);
  const edits = prepared.answerEdits;
  const form = mapsErrors ? foldedForm(route) : undefined;
  const addWaitMs = (ms: number): void => exchange.addWaitMs(ms);
  const folded = form === undefined || streams ? to : foldStream(to, { form, answerMemory, addWaitMs });
  const passes = edits === undefined && extend === undefined && meter === undefined;
  const downstream = passes ? folded : rewriteAnswer(folded, { edits, extend, meter, answerMemory });
  return {
    request: prepared.request,
    downstream: traceAnswer(downstream, admitted, { report: exchange.report, target }),
    decodes: prepared.reads,
    checksForError,
    mapsErrors,
    correctsContentType: form !== undefined,
  };
}

function clientRequestOf({ exchange, target }: ForwardingOptions): ClientRequest {
  const { method = "GET", rawHeaders, headers } = exchange.request;
  return { method: upstreamMethod(target.route, method), rawHeaders, connection: headers.connection };
}

type BodyEdit = ((body: Buffer) => Buffer) | undefined;

/** Returns the edit that adds listed models to a models list and removes those that the caller may not use. */
function modelsListEdit({ target, snapshot, effective, ports }: ForwardingOptions): BodyEdit {
  if (target.route.name !== "models") return undefined;
  const { listed } = snapshot;
  const allows = allowedModels(snapshot, effective, ports.governancePorts?.suspensions);
  if (listed.length === 0 && allows === undefined) return undefined;
  return (body) => mergeModels(body, target.dialect, { listed, allows });
}

/** Returns the edit that gives the description of a model the name that was requested, if the provider knows it by another. */
function modelIdEdit({ model }: AdmittedProvider, target: Target): BodyEdit {
  const { model: alias, route } = target;
  if (route.name !== "model" || alias === undefined || alias === model) return undefined;
  return (body) => withModelId(alias, body);
}
