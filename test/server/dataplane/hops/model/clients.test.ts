/**
 * Default requests of client libraries with every preset of the catalog: none is refused, except for features that a
 * case requests by name and no channel of the preset has. The requests were recorded from the libraries themselves
 * (`test/clients/`).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../../../../src/base/index.ts";
import { compiledCatalog } from "../../../../../src/server/core/catalog/index.ts";
import type { CatalogProvider, Channel } from "../../../../../src/server/core/catalog/types.ts";
import { findRoute } from "../../../../../src/server/core/dialects/index.ts";
import { type Credential, compileKey } from "../../../../../src/server/credentials/index.ts";
import { chooseChannel } from "../../../../../src/server/dataplane/hops/model/choose-channel.ts";
import { resolveTarget, type Target } from "../../../../../src/server/dataplane/hops/model/resolve-target.ts";
import { translateCall } from "../../../../../src/server/dataplane/hops/model/translated-call.ts";
import { createAdmission, DEFAULT_ADMISSION, RequestMemory } from "../../../../../src/server/memory/index.ts";
import type { Profile, Snapshot } from "../../../../../src/server/snapshot/index.ts";
import { compileProvider, type Provider } from "../../../../../src/server/upstream/provider.ts";
import { type Corpus, type RecordedRequest, readCorpus } from "../../../../clients/corpus.ts";

const CORPUS = readCorpus();
const GENERATIONS: ReadonlySet<string> = new Set(["/v1/chat/completions", "/v1/messages", "/v1/messages?beta=true"]);

/** A model with sampling, one that always thinks and has none, and one without a version. */
const CLAUDE = ["claude-sonnet-4-5", "claude-sonnet-5", "claude-opus-4-8", "claude-latest"];

const ANYBODY = { requireCaps: [], budget: undefined } as unknown as Profile;

const keyOn = ({ keyHeader }: Channel): Credential => compileKey("", "key", keyHeader);

function compiled(facts: CatalogProvider): Provider {
  const channels = facts.channels.map((channel) => ({
    ...channel,
    baseUrl: channel.baseUrl.replaceAll(/\{\w+\}/g, "example"),
  }));
  return compileProvider({ ...facts, channels }, { preset: facts.name } as never, keyOn, {
    onFidelityLoss: "reject",
    readsUsage: false,
  });
}

function modelsOf({ channels }: CatalogProvider): readonly string[] {
  const named = channels.flatMap(({ models }) => models).map((pattern) => pattern.replace("*", "sonnet-4-5"));
  return channels.some(({ servesClaude }) => servesClaude) ? [...CLAUDE, ...named] : ["a-model", ...named];
}

const memory = new RequestMemory(createAdmission(DEFAULT_ADMISSION));

function targetOf(request: RecordedRequest, provider: Provider, model: string): Target {
  const plain = Buffer.from(JSON.stringify({ ...(request.body as object), model }));
  const [path = "", query = ""] = request.path.split(/(?=\?)/);
  const route = findRoute(request.method, path);
  assert.ok(route !== undefined && route.dialect !== "either");
  const snapshot = { route: () => ({ provider, label: model }) } as unknown as Snapshot;
  const place = { route, dialect: route.dialect, path, query };
  return resolveTarget(snapshot, place, { contentType: "application/json", original: plain, plain, memory });
}

/** Returns `undefined` if it passes, translated if necessary. */
function refusalOf(request: RecordedRequest, provider: Provider, model: string): GatewayError | undefined {
  const target = targetOf(request, provider, model);
  try {
    const { channel, counterpart } = chooseChannel(provider, target, model, ANYBODY);
    if (counterpart !== undefined) translateCall(target, { provider, channel, counterpart, model });
    return undefined;
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
}

/** The corpus includes the libraries known to break gateways. */
test("the corpus has more than twenty libraries in both dialects, with plain calls, streams, tools and structured output", () => {
  assert.ok(CORPUS.length >= 20);
  const paths = new Set(CORPUS.flatMap(({ cases }) => Object.values(cases).flatMap((all) => all.map((it) => it.path))));
  for (const path of ["/v1/chat/completions", "/v1/messages"]) assert.ok(paths.has(path));
  for (const name of ["plain", "stream", "tools", "structured"]) {
    assert.ok(CORPUS.filter(({ cases }) => cases[name] !== undefined).length >= 20, name);
  }
  const sent = JSON.stringify(CORPUS);
  for (const habit of [
    '"strict":true',
    '"thread":{"type":"create"}',
    '"parsed_arguments"',
    '"functions":',
    '"tools":[]',
  ]) {
    assert.ok(sent.includes(habit), habit);
  }
});

interface Sent {
  readonly library: string;
  readonly name: string;
  readonly request: RecordedRequest;
}

const SENT: readonly Sent[] = CORPUS.flatMap(({ library, cases }: Corpus) =>
  Object.entries(cases).flatMap(([name, requests]) =>
    requests.filter(({ path }) => GENERATIONS.has(path)).map((request) => ({ library, name, request })),
  ),
);

/** Presets without chat. */
const WITHOUT_CHAT: ReadonlySet<string> = new Set(["jina", "voyage"]);

/** Features that a request asks for explicitly, by capability: dropping them would change the request. */
interface AskedFor {
  /** Names of cases. */
  readonly by: RegExp;
  /** Presets. */
  readonly lackedBy: "some" | readonly string[];
}

const NEVER: AskedFor = { by: /^$/, lackedBy: [] };
const ASKED: Readonly<Record<string, AskedFor>> = {
  tools: { by: /^(tools|tools-stream|functions|structured.*)$/, lackedBy: ["morph", "perplexity"] },
  tool_choice: { by: /^(tools|functions|structured.*)$/, lackedBy: ["morph", "ollama", "ollama-cloud", "perplexity"] },
  json_schema: { by: /^structured/, lackedBy: "some" },
  json_object: { by: /^structured/, lackedBy: "some" },
};

/** Cases that always send a temperature, which some models refuse. */
const STATES_TEMPERATURE: ReadonlySet<string> = new Set([
  "llama-index-anthropic",
  "llama-index-openai",
  "llamaindex-js",
  "mastra",
]);
const TAKES_NO_TEMPERATURE = /^claude-(?:sonnet-5|opus-4-8)$/;

function assertAsked({ code, message }: GatewayError, preset: string, model: string, { library, name }: Sent): void {
  const where = `${library} ${name} over ${preset} (${model}): ${message}`;
  assert.equal(code, "fidelity_loss", where);
  const named = [...message.matchAll(/\(([a-z_]+)\)/g)].map(([, capability]) => capability ?? "");
  assert.ok(named.length > 0, where);
  for (const capability of named) {
    if (capability === "sampling") {
      assert.ok(STATES_TEMPERATURE.has(library) && (TAKES_NO_TEMPERATURE.test(model) || preset === "morph"), where);
      assert.match(message, /`temperature` \(sampling\)/);
      continue;
    }
    const { by, lackedBy } = ASKED[capability] ?? NEVER;
    assert.ok(by.test(name), where);
    assert.ok(lackedBy === "some" || lackedBy.includes(preset), where);
  }
  assert.ok(message.includes(model) && /leave (it|them) out/.test(message), where);
}

test("no preset refuses the defaults of libraries, except explicitly requested missing features", () => {
  let [passed, refused] = [0, 0];
  for (const facts of compiledCatalog().values()) {
    if (WITHOUT_CHAT.has(facts.name)) continue;
    const provider = compiled(facts);
    for (const model of modelsOf(facts)) {
      for (const sent of SENT) {
        const refusal = refusalOf(sent.request, provider, model);
        // Refuses the next turn of a thread, which the SDK handles.
        if (refusal?.code === "thread_not_found") assert.match(JSON.stringify(sent.request.body), /"type":"continue"/);
        else if (refusal !== undefined) assertAsked(refusal, facts.name, model, sent);
        if (refusal === undefined) passed += 1;
        else refused += 1;
      }
    }
  }
  assert.ok(passed > 10 * refused, `${passed} passed, ${refused} were refused`);
});
