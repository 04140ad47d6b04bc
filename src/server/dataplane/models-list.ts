/** Aliases in the answer of `GET /v1/models`, in either dialect's shape, beside what the provider itself lists. */
import { memberValue, type RouteDialect, replaceValue, scanObject } from "../core/dialects/index.ts";

export interface AdvertisedAlias {
  readonly alias: string;
  readonly provider: string;
}

/** The list with the aliases added at its end; the same buffer where it is no list, or a page with more to follow. */
export function advertise(body: Buffer, dialect: RouteDialect, aliases: readonly AdvertisedAlias[]): Buffer {
  const scan = scanObject(body, ["data", "has_more"]);
  if (scan.kind !== "object") return body;
  const [data, more] = scan.members;
  if (data === undefined || (more !== undefined && memberValue(body, more) === true)) return body;
  const listed = memberValue(body, data);
  if (!Array.isArray(listed)) return body;
  const known = new Set(listed.map((entry: { id?: unknown } | null) => entry?.id));
  const added = aliases
    .filter(({ alias }) => !known.has(alias))
    .map((entry) => JSON.stringify(describe(entry, dialect)));
  if (added.length === 0) return body;
  const inner = body.toString("utf8", data.valueStart + 1, data.valueEnd - 1);
  return replaceValue(body, data, `[${inner}${listed.length > 0 ? "," : ""}${added.join(",")}]`);
}

function describe({ alias, provider }: AdvertisedAlias, dialect: RouteDialect): object {
  return dialect === "messages"
    ? { type: "model", id: alias, display_name: alias, created_at: "1970-01-01T00:00:00Z" }
    : { id: alias, object: "model", created: 0, owned_by: provider };
}
