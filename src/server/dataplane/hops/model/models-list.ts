/**
 * Answers `GET /v1/models` in the shape of either dialect: the default provider's list, if it has one, plus the exact names and
 * aliases of all providers, restricted to the models that the caller may use. Also answers `GET /v1/models/{id}`. The listed
 * names can be used in requests.
 */
import { type Dialect, memberValue, replaceValue, scanObject, translateModels } from "../../../core/dialects/index.ts";
import { llmVariables } from "../../../core/policy/variables/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import type { Provider } from "../../../upstream/index.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import type { Suspensions } from "../../ports.ts";
import type { RouteMatch } from "./resolve-target.ts";

interface ListedModel {
  readonly id: string;
  readonly provider: string;
}

interface ListChange {
  readonly listed: readonly ListedModel[];
  /** Returns whether a model is allowed; `undefined` if every model is. */
  readonly allows: ((model: string) => boolean) | undefined;
}

const MODELS_PATH = "/v1/models/";

/** Routes for which rules are evaluated: a model is listed if it may be used on one of them. */
const ROUTES = ["chat_completions", "messages", "responses", "embeddings"] as const;

/**
 * Returns which models the caller may use now according to its profile, rules and suspensions, or `undefined` if every model is
 * allowed.
 */
export function allowedModels(
  snapshot: Snapshot,
  { profile, variables }: EffectiveProfile,
  suspensions: Suspensions | undefined,
): ListChange["allows"] {
  const { allows, policy } = profile;
  const isRuled = policy.count.llm > 0;
  const mayBeSuspended = suspensions?.any === true;
  if (!isRuled && !mayBeSuspended) return allows;
  return (model) => {
    if (allows?.(model) === false) return false;
    if (mayBeSuspended && suspensions.of("model", model) !== undefined) return false;
    const provider = snapshot.route(model)?.provider;
    if (!isRuled || provider === undefined) return true;
    return ROUTES.some((route) => {
      const upstreamModel = provider.aliases.get(model) ?? model;
      const asked = llmVariables(variables, { model, upstreamModel, provider, route });
      return policy.decide("llm", asked).kind === "allow";
    });
  };
}

/** Returns the list or the model as JSON text; `undefined` if a provider is called for it. */
export function localModelsAnswer(
  snapshot: Snapshot,
  method: string | undefined,
  match: RouteMatch,
  allows: () => ListChange["allows"],
): string | undefined {
  if (method !== "GET" && method !== "HEAD") return undefined;
  if (match.route.name === "models") return localList(snapshot, match, allows);
  return match.route.name === "model" ? localModel(snapshot, match, allows) : undefined;
}

function localList(
  { defaultProvider, listed }: Snapshot,
  { dialect, query }: RouteMatch,
  allows: () => ListChange["allows"],
) {
  if (listsModels(defaultProvider)) return undefined;
  const may = allows();
  const data = listed.filter(({ id }) => may?.(id) !== false).map((it) => describe(it, "compat"));
  const body = JSON.stringify({ object: "list", data });
  return dialect === "messages" ? translateModels("messages", body, query) : body;
}

/** Returns one model. A model that the caller may not use is handled like other requests, whose refusal gives the reason. */
function localModel({ route, listed }: Snapshot, { dialect, path }: RouteMatch, allows: () => ListChange["allows"]) {
  const model = listed.find(({ id }) => path === MODELS_PATH + id || path === MODELS_PATH + encodeURIComponent(id));
  if (model === undefined || listsModels(route(model.id)?.provider)) return undefined;
  return allows()?.(model.id) === false ? undefined : JSON.stringify(describe(model, dialect));
}

const listsModels = (provider: Provider | undefined): boolean =>
  provider?.channels.some(({ claims }) => claims("models")) === true;

/**
 * Adds the gateway's models to the last page of a list, and removes models that are not allowed. Returns the same buffer if
 * nothing changes or the body is not a list.
 */
export function mergeModels(body: Buffer, dialect: Dialect, { listed: ours, allows }: ListChange): Buffer {
  const scan = scanObject(body, ["data", "has_more"]);
  if (scan.kind !== "object") return body;
  const [data, more] = scan.members;
  if (data === undefined) return body;
  const listed = memberValue(body, data);
  if (!Array.isArray(listed)) return body;
  const entries: readonly Entry[] = listed;
  const kept = allows === undefined ? entries : entries.filter((entry) => isAllowed(entry, allows));
  const hasMore = more !== undefined && memberValue(body, more) === true;
  const known = new Set(entries.map((entry) => entry?.id));
  const added = hasMore ? [] : ours.filter(({ id }) => !known.has(id) && allows?.(id) !== false);
  if (added.length === 0 && kept.length === entries.length) return body;
  const described = added.map((entry) => JSON.stringify(describe(entry, dialect)));
  if (kept.length < entries.length) {
    return replaceValue(body, data, `[${[...kept.map((entry) => JSON.stringify(entry)), ...described].join(",")}]`);
  }
  const inner = body.toString("utf8", data.valueStart + 1, data.valueEnd - 1);
  return replaceValue(body, data, `[${inner}${entries.length > 0 ? "," : ""}${described.join(",")}]`);
}

/**
 * Replaces the id of a model that was requested by an alias. Returns the same buffer if the answer contains no model. `alias`:
 * as the client requested it.
 */
export function withModelId(alias: string, body: Buffer): Buffer {
  const scan = scanObject(body, ["id"]);
  const id = scan.kind === "object" ? scan.members[0] : undefined;
  return id === undefined ? body : replaceValue(body, id, JSON.stringify(alias));
}

type Entry = { readonly id?: unknown } | null;

const isAllowed = (entry: Entry, allows: (model: string) => boolean): boolean =>
  typeof entry?.id === "string" && allows(entry.id);

function describe({ id, provider }: ListedModel, dialect: Dialect): object {
  return dialect === "messages"
    ? { type: "model", id, display_name: id, created_at: "1970-01-01T00:00:00Z" }
    : { id, object: "model", created: 0, owned_by: provider };
}
