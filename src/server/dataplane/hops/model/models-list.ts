/**
 * The answers of `GET /v1/models`, in either dialect's shape: what the provider lists and the aliases beside it, and of both
 * what the caller may ask for; and of `GET /v1/models/{id}`. A client is shown the names that it can send back.
 */
import { type Dialect, memberValue, replaceValue, scanObject } from "../../../core/dialects/index.ts";

export interface AdvertisedAlias {
  readonly alias: string;
  readonly provider: string;
}

export interface ListChange {
  readonly aliases: readonly AdvertisedAlias[];
  /** Undefined: every model. */
  readonly allows: ((model: string) => boolean) | undefined;
}

/** The same buffer where nothing changes: it is no list. Aliases stand at the end of the last page. */
export function advertise(body: Buffer, dialect: Dialect, { aliases, allows }: ListChange): Buffer {
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
  const added = hasMore ? [] : aliases.filter(({ alias }) => !known.has(alias) && allows?.(alias) !== false);
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

function describe({ alias, provider }: AdvertisedAlias, dialect: Dialect): object {
  return dialect === "messages"
    ? { type: "model", id: alias, display_name: alias, created_at: "1970-01-01T00:00:00Z" }
    : { id: alias, object: "model", created: 0, owned_by: provider };
}
