/**
 * Translates the list of models, and one model, to the client's dialect. Source: dialects reference, 2 and 5.4.
 *
 * A compat list is complete, and is split into the pages that a messages client asks for. A messages list may be one page of
 * several; a compat client cannot learn that there are more. The dialects only have a model's id and time in common. Other
 * members that the official clients require get a placeholder: the id as the display name, the start of 1970, the owner
 * `unknown` (the type does not allow null). Entries without an id are left out.
 */

import { numberOf, objectOf, stringOf, tryParseJson, type Values } from "../json/json-values.ts";
import type { Dialect } from "../routes/routes.ts";
import { AnswerProblem } from "./types.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;

/** Maximum time in seconds since 1970; later years have five digits, which RFC 3339 does not allow. */
const MAX_SECONDS = 253_402_300_799;

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

const UNKNOWN_OWNER = "unknown";

interface Model {
  readonly id: string;
  readonly entry: Values;
}

/**
 * Returns the list as JSON text. `query` is the client's query, which selects the page of a messages client. Throws
 * `AnswerProblem`.
 */
export function translateModels(to: Dialect, body: string, query: string): string {
  const list = tryParseJson(body);
  // Some compat providers answer with the bare array, and a server without models with a list that is null.
  const { data, object }: Values = objectOf(list) ?? {};
  const entries = object === "list" && data === null ? [] : Array.isArray(list) ? list : data;
  if (!Array.isArray(entries)) throw new AnswerProblem("the provider's list of models is not a list");
  const models = modelsOf(entries);
  if (to === "compat") return JSON.stringify({ object: "list", data: models.map(compatModel) });
  const { page, hasMore } = pageOf(models, new URLSearchParams(query));
  return JSON.stringify({
    data: page.map(messagesModel),
    has_more: hasMore,
    first_id: page.at(0)?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  });
}

/** Returns the model as JSON text. Throws `AnswerProblem`. */
export function translateModel(to: Dialect, body: string): string {
  const model = modelOf(tryParseJson(body));
  if (model === undefined) throw new AnswerProblem("the provider's model is not an object with an id");
  return JSON.stringify(to === "messages" ? messagesModel(model) : compatModel(model));
}

/** Returns the models. A repeated id is kept once, since ids mark where the next page begins. */
function modelsOf(entries: readonly unknown[]): readonly Model[] {
  const models = new Map<string, Model>();
  for (const entry of entries) {
    const model = modelOf(entry);
    if (model !== undefined && !models.has(model.id)) models.set(model.id, model);
  }
  return [...models.values()];
}

function modelOf(value: unknown): Model | undefined {
  const entry = objectOf(value);
  const id = stringOf(entry?.id);
  return entry === undefined || id === undefined || id === "" ? undefined : { id, entry };
}

interface Page {
  readonly page: readonly Model[];
  /**
   * Whether there are more models in the direction of paging: before the page if only `before_id` is given, otherwise after it.
   */
  readonly hasMore: boolean;
}

/** Returns a page. If the given model is not listed, the page is empty and paging ends. */
function pageOf(models: readonly Model[], query: URLSearchParams): Page {
  const limit = limitOf(query.get("limit"));
  const after = query.get("after_id");
  const before = query.get("before_id");
  const start = after === null ? 0 : indexOf(models, after) + 1;
  const end = before === null ? models.length : indexOf(models, before);
  if ((after !== null && start === 0) || end <= start) return { page: [], hasMore: false };
  const page =
    after === null && before !== null
      ? models.slice(Math.max(start, end - limit), end)
      : models.slice(start, Math.min(end, start + limit));
  return { page, hasMore: page.length < end - start };
}

const indexOf = (models: readonly Model[], id: string): number => models.findIndex((model) => model.id === id);

/** Returns the limit, clamped to its range; a value that is not a number counts as absent. */
function limitOf(written: string | null): number {
  if (written === null || !/^\d+$/.test(written)) return DEFAULT_LIMIT;
  return Math.min(Math.max(Number(written), 1), MAX_LIMIT);
}

function messagesModel({ id, entry }: Model): object {
  const name = stringOf(entry.display_name);
  return { type: "model", id, display_name: name === undefined || name === "" ? id : name, created_at: timeOf(entry) };
}

function compatModel({ id, entry }: Model): object {
  return { id, object: "model", created: secondsOf(entry), owned_by: UNKNOWN_OWNER };
}

function timeOf(entry: Values): string {
  const created = numberOf(entry.created) ?? 0;
  const seconds = created >= 0 && created <= MAX_SECONDS ? Math.trunc(created) : 0;
  return new Date(seconds * 1_000).toISOString().replace(".000Z", "Z");
}

function secondsOf(entry: Values): number {
  const time = stringOf(entry.created_at) ?? "";
  const milliseconds = RFC_3339.test(time) ? Date.parse(time) : 0;
  return milliseconds > 0 ? Math.floor(milliseconds / 1_000) : 0;
}
