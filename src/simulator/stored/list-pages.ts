/** Pages of lists, in the form that the SDKs of each dialect expect. */

import { Refused } from "../dialect-errors.ts";
import { type Answer, json } from "../route-types.ts";

interface Listed {
  readonly id: string;
}

/** Returns a page. `values` begins with the oldest value. The page begins after the id in `after`. */
export function compatPage(values: readonly Listed[], query: URLSearchParams, most = 100, usual = 20): Answer {
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") {
    throw new Refused(
      400,
      `Invalid value: '${order.slice(0, 64)}'. Supported values are: 'asc', and 'desc'.`,
      "order",
      "invalid_value",
    );
  }
  const limit = limitOf(query, most, usual);
  const ordered = order === "asc" ? values : values.toReversed();
  const { data, has_more } = sliced(ordered, query.get("after"), limit);
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return json(JSON.stringify({ object: "list", data, ...ends, has_more }));
}

/** Returns a page, beginning with the newest value. Paging uses `after_id`, or `page` for newer SDKs. */
export function messagesPage(values: readonly Listed[], query: URLSearchParams): Answer {
  const limit = limitOf(query, 1_000, 20);
  const before = query.get("before_id");
  const newest = values.toReversed();
  const ordered = before === null ? newest : newest.slice(0, Math.max(0, placeOf(newest, before)));
  const { data, has_more } = sliced(ordered, query.get("after_id") ?? query.get("page"), limit);
  const last = data.at(-1)?.id ?? null;
  const ends = { first_id: data[0]?.id ?? null, last_id: last, next_page: has_more ? last : null };
  return json(JSON.stringify({ data, has_more, ...ends }));
}

function sliced(values: readonly Listed[], after: string | null, limit: number) {
  const from = after === null ? 0 : placeOf(values, after) + 1;
  return { data: values.slice(from, from + limit), has_more: values.length > from + limit };
}

function placeOf(values: readonly Listed[], id: string): number {
  const at = values.findIndex((value) => value.id === id);
  if (at < 0) throw new Refused(400, "The page begins at an object that does not exist.", "after");
  return at;
}

function limitOf(query: URLSearchParams, most: number, usual: number): number {
  const limitText = query.get("limit");
  const limit = limitText === null ? usual : Number(limitText);
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit;
  throw new Refused(400, `limit must be an integer of 1 to ${most}.`, "limit");
}
