/**
 * One cell of the matrix: a feature used by one client in one form with one provider. It passes, or is refused with the
 * name of the loss; anything else fails the test.
 */
import assert from "node:assert/strict";
import { BadRequestError as AnthropicBadRequest } from "@anthropic-ai/sdk";
import { BadRequestError as OpenaiBadRequest } from "openai";
import type { Dialect } from "../../../../src/server/core/dialects/routes/routes.ts";
import { idle, type Series, sumOf } from "../../support/metrics.ts";
import { type MessageParams, tellByAnthropic } from "./anthropic.ts";
import { assertIncludes } from "./includes.ts";
import { type ChatParams, tellByOpenai } from "./openai.ts";
import { ALLOWING, aliasOf, type Received, type Rig, receivedBy } from "./rig.ts";
import { type ClientName, FORMS, type Form, type SdkAnswer } from "./sdk-answer.ts";

export interface RequestByClient {
  readonly openai: ChatParams;
  readonly anthropic: MessageParams;
}

export interface Cell {
  readonly rig: Rig;
  readonly client: ClientName;
  readonly upstream: Dialect;
  readonly form: Form;
  readonly isTranslated: boolean;
  /** Name by which the client requests the feature's model. */
  readonly model: string;
  ask(request: RequestByClient): Promise<SdkAnswer>;
  /** Returns the last request that the provider received. */
  received(): Promise<Received>;
  /** Asserts the body of that request, by its dialect. */
  sent(expected: Readonly<Record<Dialect, unknown>>): Promise<void>;
}

interface Common {
  /** Name in the table. */
  readonly name: string;
  /** Model of the simulated provider. */
  readonly model?: string;
  readonly forms?: readonly Form[];
}

/** Clients that are not listed here cannot express the feature. */
interface RequestFeature extends Common {
  readonly request: Partial<RequestByClient>;
  /** Expected request to the provider, by its dialect. */
  readonly sent?: Readonly<Partial<Record<Dialect, unknown>>>;
  readonly check?: (answer: SdkAnswer, cell: Cell) => void | Promise<void>;
}

/** A feature that ends other than with an answer. */
interface RunFeature extends Common {
  readonly run: (cell: Cell) => Promise<void>;
}

export type Feature = RequestFeature | RunFeature;

export type Outcome =
  | { readonly kind: "pass" }
  | { readonly kind: "lost"; readonly capability: string }
  /** The client's dialect cannot express it. */
  | { readonly kind: "none" };

export const modelOf = ({ model = "sim-small" }: Common): string => model;

/** Dialect of each client. */
const CLIENT_DIALECT = { openai: "compat", anthropic: "messages" } as const satisfies Record<ClientName, Dialect>;

export interface Place {
  readonly client: ClientName;
  readonly upstream: Dialect;
}

/** Returns the common outcome of all forms. */
export async function outcomeIn(rig: Rig, feature: Feature, place: Place): Promise<Outcome> {
  if ("request" in feature && feature.request[place.client] === undefined) return { kind: "none" };
  const outcomes: Outcome[] = [];
  for (const form of feature.forms ?? FORMS) outcomes.push(await outcomeOf(rig, feature, { ...place, form }));
  const [first] = outcomes;
  assert.ok(first);
  for (const each of outcomes) assert.deepEqual(each, first, "all forms of a request come to one outcome");
  return first;
}

async function outcomeOf(rig: Rig, feature: Feature, at: Place & { form: Form }): Promise<Outcome> {
  const cell = cellOf(rig, { ...at, provider: at.upstream, model: modelOf(feature) });
  if ("run" in feature) {
    await feature.run(cell);
    return { kind: "pass" };
  }
  const request = feature.request as RequestByClient;
  const before = rig.simulators[at.upstream].counts().requests;
  const asked = await cell.ask(request).then(
    (result) => ({ result }),
    (error: unknown) => ({ capability: lostBy(error, at.client) }),
  );
  if ("capability" in asked) {
    assert.equal(rig.simulators[at.upstream].counts().requests, before, "the provider is not asked");
    await allowed(rig, request, { ...at, model: modelOf(feature), capability: asked.capability });
    return { kind: "lost", capability: asked.capability };
  }
  const expected = feature.sent?.[at.upstream];
  if (expected !== undefined) assertIncludes((await cell.received()).body, expected, "what was sent");
  await feature.check?.(asked.result, cell);
  return { kind: "pass" };
}

/** Asserts that a request refused for a loss passes if the operator allows it, and is counted. */
async function allowed(
  rig: Rig,
  request: RequestByClient,
  at: Place & { form: Form; model: string; capability: string },
) {
  const provider = at.upstream + ALLOWING;
  const labels = { provider, capability: at.capability };
  const count = (series: Series): number => sumOf(series, "gateway_fidelity_losses_total", labels);
  const before = count(await idle(rig.gateway));
  const { finish, text, calls } = await cellOf(rig, { ...at, provider }).ask(request);
  assert.notEqual(finish, "null");
  assert.ok(text !== "" || calls.length > 0, "there is an answer");
  assert.equal(count(await idle(rig.gateway)), before + 1, `the loss of ${at.capability} is counted`);
}

/** Returns the capability that a refusal names; rethrows any other error. */
export function lostBy(error: unknown, client: ClientName): string {
  if (client === "openai") {
    if (!(error instanceof OpenaiBadRequest) || error.code !== "fidelity_loss") throw error;
    assert.equal(error.type, "invalid_request_error");
    return capabilityIn(error.message, error.param);
  }
  if (!(error instanceof AnthropicBadRequest)) throw error;
  const { error: found } = error.error as { readonly error: Record<string, unknown> };
  if (found["code"] !== "fidelity_loss") throw error;
  assert.equal(error.type, "invalid_request_error");
  const { param } = found["details"] as { readonly param?: unknown };
  return capabilityIn(String(found["message"]), param);
}

/** The capability is in parentheses behind its fields, or has the name of its field. */
function capabilityIn(message: string, param: unknown): string {
  assert.ok(typeof param === "string" && message.includes(param), message);
  return /\(([a-z_]+)\) (?:is|are) not supported by /.exec(message)?.[1] ?? param;
}

interface CellOptions extends Place {
  readonly form: Form;
  readonly provider: string;
  readonly model: string;
}

export function cellOf(rig: Rig, { client, upstream, form, provider, model }: CellOptions): Cell {
  const alias = aliasOf(provider, model);
  const cell: Cell = {
    rig,
    client,
    upstream,
    form,
    isTranslated: CLIENT_DIALECT[client] !== upstream,
    model: alias,
    async ask(request) {
      const result =
        client === "openai"
          ? await tellByOpenai(rig.clients.openai, { form, model: alias, params: request.openai, wantsUsage: true })
          : await tellByAnthropic(rig.clients.anthropic, { form, model: alias, params: request.anthropic });
      assert.equal(result.model, alias, "the client reads the model that it asked for");
      assert.notEqual(result.id, "");
      return result;
    },
    received: () => receivedBy(rig.simulators[upstream]),
    async sent(expected) {
      assertIncludes((await cell.received()).body, expected[upstream], "what was sent");
    },
  };
  return cell;
}
