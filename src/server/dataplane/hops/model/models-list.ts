/**
 * The answers of `GET /v1/models`, in either dialect's shape: what the default provider lists, where there is one that does,
 * and the exact names and aliases of all providers beside it, and of both what the caller may ask for; and of
 * `GET /v1/models/{id}`. A client is shown the names that it can send back.
 */
import { type Dialect, memberValue, replaceValue, scanObject, translateModels } from "../../../core/dialects/index.ts";
import { llmVariables } from "../../../core/policy/variables/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import type { Provider } from "../../../upstream/index.ts";
import type { Standing } from "../../governance/standing.ts";
import type { Suspensions } from "../../ports.ts";
import type { Place } from "./address.ts";

export interface ListedModel {
  readonly id: string;
  readonly provider: string;
}

export interface ListChange {
  readonly listed: readonly ListedModel[];
  /** Undefined: every model. */
  readonly allows: ((model: string) => boolean) | undefined;
}

const MODELS_PATH = "/v1/models/";

/** Rules may speak of one route: a model is listed that may be used on one of these. */
const ROUTES = ["chat_completions", "messages", "responses", "embeddings"] as const;

/** What the caller may ask for now: by its profile's list, the rules, and what is suspended. Undefined: every model. */
export function allowedModels(
  snapshot: Snapshot,
  { profile, variables }: Standing,
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

/** What the gateway answers itself: the list, or one model, where no provider can be asked. Undefined: one is. JSON text. */
export function ownAnswer(
  snapshot: Snapshot,
  method: string | undefined,
  place: Place,
  allows: () => ListChange["allows"],
): string | undefined {
  if (method !== "GET" && method !== "HEAD") return undefined;
  if (place.route.name === "models") return ownList(snapshot, place, allows);
  return place.route.name === "model" ? ownModel(snapshot, place, allows) : undefined;
}

function ownList({ defaultProvider, listed }: Snapshot, { dialect, query }: Place, allows: () => ListChange["allows"]) {
  if (tellsModels(defaultProvider)) return undefined;
  const may = allows();
  const data = listed.filter(({ id }) => may?.(id) !== false).map((it) => describe(it, "compat"));
  const body = JSON.stringify({ object: "list", data });
  return dialect === "messages" ? translateModels("messages", body, query) : body;
}

/** One that may not be used goes the way of all, which says why. */
function ownModel({ route, listed }: Snapshot, { dialect, path }: Place, allows: () => ListChange["allows"]) {
  const model = listed.find(({ id }) => path === MODELS_PATH + id || path === MODELS_PATH + encodeURIComponent(id));
  if (model === undefined || tellsModels(route(model.id)?.provider)) return undefined;
  return allows()?.(model.id) === false ? undefined : JSON.stringify(describe(model, dialect));
}

const tellsModels = (provider: Provider | undefined): boolean =>
  provider?.channels.some(({ claims }) => claims("models")) === true;

/** The same buffer where nothing changes: it is no list. What is ours stands at the end of the last page. */
export function advertise(body: Buffer, dialect: Dialect, { listed: ours, allows }: ListChange): Buffer {
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
 * One model that was asked for by its alias: under that name, whatever the provider calls it. The same buffer where the
 * answer is of no model. `alias`: as the client asked.
 */
export function namedAs(alias: string, body: Buffer): Buffer {
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
