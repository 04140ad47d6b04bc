/**
 * Sends model calls of detectors to configured providers. They have credential, suspensions, retry, failover, statistics and
 * metering like a request, but no access rules, model lists, budgets and guardrails, because guardrails would call detectors
 * again. Source: architecture, port `CallModel`.
 */
import { randomUUID } from "node:crypto";
import { type AttemptTracer, awaitCompletion, GatewayError } from "../../../base/index.ts";
import { editObject } from "../../core/dialects/index.ts";
import { RequestMemory } from "../../memory/index.ts";
import type { CallModel, ModelQuestion, Snapshot } from "../../snapshot/index.ts";
import {
  type Candidate,
  type ForwardOptions,
  forward,
  isFailure,
  type Provider,
  type UpstreamChannel,
} from "../../upstream/index.ts";
import { suspendedError } from "../governance/suspended.ts";
import { beginUse, createMeter, type Meter } from "../metering/index.ts";
import type { Ports, Suspensions } from "../ports.ts";
import type { ProviderStatistics } from "../statistics.ts";
import { bodyFor, PATHS, parseModelAnswer } from "./dialects.ts";
import { type GatheredAnswer, gatherAnswer } from "./gathered.ts";

/** Maximum size of an answer. A verdict is only a few words. */
const MAX_ANSWER_BYTES = 1 << 20;

const MESSAGES_VERSION = "2023-06-01";

type CallPorts = Pick<
  Ports,
  "snapshot" | "origins" | "admission" | "presenter" | "metrics" | "governancePorts" | "statistics"
>;

/** Returns the function that calls a model. It uses the providers of the configuration in force at the time of the call. */
export function createModelCalls(ports: CallPorts): CallModel {
  return async (question, signal, tracer) => {
    signal.throwIfAborted();
    const snapshot = ports.snapshot();
    const addressed = snapshot.byName.get(question.provider);
    if (addressed === undefined)
      throw new GatewayError("not_found", `no provider \`${question.provider}\` is configured`);
    const asker = { name: `gateway:${question.detector}`, profile: { name: undefined } };
    const asked = { hop: "llm", provider: addressed.name, label: question.model } as const;
    const use = beginUse(ports.governancePorts?.ledger, asker, asked);
    let hasFailed = true;
    const meter = createMeter({
      charge: undefined,
      route: { name: "chat_completions", usage: "always" },
      label: question.model,
      metrics: ports.metrics.usage,
      onUnits: (provider, units) => ports.statistics?.of(provider)?.addUnits(units),
      account: use,
    });
    const account = new RequestMemory(ports.admission);
    const downstream = gatherAnswer(signal, { maxBytes: MAX_ANSWER_BYTES, meter, account });
    try {
      account.hold(bytesOf(question));
      const { dialect } = await forwardQuestion(question, addressed, { snapshot, downstream, meter, tracer, ports });
      const answer = parseModelAnswer(dialect, downstream.answer());
      hasFailed = false;
      return answer;
    } finally {
      downstream.close();
      meter.close();
      use?.end(hasFailed);
      account.close();
    }
  };
}

/** Returns the size of the texts. They are in memory once at a time, because attempts follow each other. */
const bytesOf = ({ system = "", turns }: ModelQuestion): number =>
  turns.reduce((sum, { text }) => sum + Buffer.byteLength(text), Buffer.byteLength(system));

interface CallContext {
  readonly snapshot: Snapshot;
  readonly downstream: GatheredAnswer;
  readonly meter: Meter;
  readonly tracer: AttemptTracer | undefined;
  readonly ports: CallPorts;
}

/** Forwards a question. Returns the channel that answered last. */
async function forwardQuestion(
  question: ModelQuestion,
  addressed: Provider,
  { snapshot, downstream, meter, tracer, ports }: CallContext,
): Promise<UpstreamChannel> {
  const { candidates, refusal } = candidatesOf(question, addressed, snapshot, ports.governancePorts?.suspensions);
  const [first] = candidates;
  if (first === undefined) throw refusal;
  const request = randomUUID();
  let channel = first.channel;
  let attempts = 0;
  let statistics: ProviderStatistics | undefined;
  let lastProvider: string | undefined;
  const options: ForwardOptions = {
    candidates: {
      at: (position) => {
        const one = candidates[position];
        return one && candidateFor(one, question, downstream);
      },
      mayExist: (position) => position < candidates.length,
      failoverWhen: addressed.failover?.when,
    },
    deadlineMs: Number.POSITIVE_INFINITY,
    origins: ports.origins,
    requestId: request,
    presenter: ports.presenter,
    // No header of the answer is passed on.
    onPresented: () => undefined,
    downstream,
    onAttempt: ({ provider, model, channel: by }, isRetry) => {
      channel = by;
      attempts++;
      statistics = ports.statistics?.of(provider.name);
      statistics?.beginAttempt(isRetry);
      if (isRetry) ports.metrics.countRetry(provider.name);
      else if (lastProvider !== undefined && lastProvider !== provider.name) {
        ports.metrics.countFailover(lastProvider, provider.name);
        ports.statistics?.of(lastProvider)?.countFailoverOut();
        statistics?.countFailoverIn();
      }
      lastProvider = provider.name;
      meter.beginAttempt(provider, model, by.dialect);
    },
    onAnswer: (ms) => statistics?.recordAnswer(ms),
    onAttemptEnd: (
      provider,
      { result, status, nextTarget, failedAfterMs, error, reason, hasTimedOut, hasEmbeddedError },
    ) => {
      ports.metrics.countAttempt(provider.name, result);
      if (isFailure(result)) {
        statistics?.recordFailure({
          kind: result,
          status,
          attempt: attempts,
          movedTo: nextTarget?.name ?? null,
          request,
          caller: `gateway:${question.detector}`,
          model: question.model,
          durationMs: failedAfterMs,
          error,
          reason,
        });
      }
      statistics?.endAttempt();
      meter.endAttempt(result, { hasTimedOut, hasEmbeddedError: hasEmbeddedError });
    },
    onWait: () => undefined,
    holdMs: 0,
    passesRedirects: false,
    tracer,
  };
  await awaitCompletion((done) => forward(options, done));
  return channel;
}

interface CallCandidate {
  readonly provider: Provider;
  readonly channel: UpstreamChannel;
  /** Model as sent to this provider. */
  readonly model: string;
}

/** Returns the candidates in order, and in `refusal` the reason if there are none. Throws if the model is suspended. */
function candidatesOf(
  { provider: name, model: asked, template }: ModelQuestion,
  addressed: Provider,
  { byName }: Snapshot,
  suspensions: Suspensions | undefined,
): { readonly candidates: readonly CallCandidate[]; readonly refusal: GatewayError } {
  let refusal: GatewayError | undefined;
  const others = (addressed.failover?.to ?? []).flatMap((other) => byName.get(other) ?? []);
  const candidates = [addressed, ...others].flatMap((provider): readonly CallCandidate[] => {
    const model = provider.aliases.get(asked) ?? asked;
    const ofModel = suspensionError("model", [asked, model], suspensions);
    // Another provider may replace a suspended provider, but not a suspended model, as for requests.
    if (provider === addressed && ofModel !== undefined) throw ofModel;
    const refused = ofModel ?? suspensionError("provider", [provider.name], suspensions);
    refusal ??= refused;
    const fitting = provider.channels.filter(
      (channel) => (template === undefined || channel.dialect === "compat") && channel.servesModel?.(model) !== false,
    );
    const channel = fitting.find(({ isOwnSurface }) => isOwnSurface) ?? fitting[0];
    return refused !== undefined || channel === undefined ? [] : [{ provider, channel, model }];
  });
  refusal ??= new GatewayError("not_found", `no channel of provider \`${name}\` can be asked for \`${asked}\``);
  return { candidates, refusal };
}

function suspensionError(
  kind: "model" | "provider",
  names: readonly string[],
  suspensions: Suspensions | undefined,
): GatewayError | undefined {
  if (suspensions?.any !== true) return undefined;
  for (const name of names) {
    const suspension = suspensions.of(kind, name);
    if (suspension !== undefined) return suspendedError(kind, name, suspension, suspensions.now());
  }
  return undefined;
}

function candidateFor(
  { provider, channel, model }: CallCandidate,
  question: ModelQuestion,
  downstream: GatheredAnswer,
): Candidate {
  return {
    provider,
    channel,
    model,
    prepare() {
      const plain = Buffer.from(bodyFor(channel.dialect, question, model));
      const headers = ["content-type", "application/json", "accept", "application/json", "accept-encoding", "identity"];
      const isSet = provider.addedHeaders.some(
        (name, at) => at % 2 === 0 && name.toLowerCase() === "anthropic-version",
      );
      if (channel.dialect === "messages" && !isSet) headers.push("anthropic-version", MESSAGES_VERSION);
      headers.push(...provider.addedHeaders);
      return {
        request: {
          method: "POST",
          path: channel.pathOf(PATHS[channel.dialect]),
          headers,
          body: provider.bodyEdits === undefined ? plain : editObject(plain, provider.bodyEdits),
        },
        downstream,
        decodes: true,
        checksForError: true,
        mapsErrors: true,
        correctsContentType: false,
      };
    },
  };
}
