/**
 * Builds a translated request. Neither the headers of the client's dialect nor the form of its credential are forwarded.
 * Source: dialects reference, 8.1, 8.2 and 6.
 */
import type { Dialect } from "../../../core/dialects/index.ts";
import { editObject } from "../../../core/dialects/index.ts";
import type { Provider, UpstreamChannel, UpstreamRequest } from "../../../upstream/index.ts";
import { lowerCase, upstreamHeaders } from "../../headers.ts";
import type { ClientRequest } from "./prepare-request.ts";
import type { TranslatedCall } from "./translated-call.ts";

/**
 * Version of the messages API in which requests may still contain sampling parameters, which clients of other dialects commonly
 * send.
 */
const MESSAGES_VERSION = "2023-06-01";

/** Query with a page size that fits all models of a provider. */
const MODELS_QUERY = "?limit=1000";

/** Headers that belong to a dialect or describe the body before translation. */
const FOREIGN_HEADERS: readonly string[] = [
  "accept",
  "accept-encoding",
  "api-key",
  "authorization",
  "content-digest",
  "content-encoding",
  "content-md5",
  "content-type",
  "cookie",
  "digest",
  "repr-digest",
  "x-api-key",
  "idempotency-key",
  "if-range",
  "range",
];
const FOREIGN_PREFIXES: readonly string[] = ["anthropic-", "openai-", "x-stainless-"];

export function prepareTranslated(
  client: ClientRequest,
  { provider, channel }: { readonly provider: Provider; readonly channel: UpstreamChannel },
  call: TranslatedCall,
  streams: boolean,
): UpstreamRequest {
  const { body } = call;
  const edited = body.length === 0 || provider.bodyEdits === undefined ? body : editObject(body, provider.bodyEdits);
  const headers = ownHeaders(client, provider);
  headers.push(...clientCredential(client, channel), ...dialectHeaders(channel.dialect, provider));
  if (edited.length > 0) headers.push("content-type", "application/json");
  const isStreamed = streams && channel.claims("streaming");
  headers.push("accept", isStreamed ? "text/event-stream" : "application/json", "accept-encoding", "identity");
  headers.push(...provider.addedHeaders);
  const query = call.route.name === "models" && channel.dialect === "messages" ? MODELS_QUERY : "";
  return {
    method: client.method,
    path: channel.pathOf(call.path) + query,
    headers,
    body: edited.length === 0 ? null : edited,
  };
}

function ownHeaders({ rawHeaders, connection }: ClientRequest, { droppedHeaders }: Provider): string[] {
  const passing = upstreamHeaders(rawHeaders, connection, droppedHeaders, FOREIGN_HEADERS);
  const own: string[] = [];
  for (let at = 0; at < passing.length; at += 2) {
    const name = passing[at] as string;
    if (!isForeign(lowerCase(name))) own.push(name, passing[at + 1] as string);
  }
  return own;
}

function isForeign(name: string): boolean {
  return FOREIGN_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Returns the header pairs of the client's credential, or none if the gateway presents a credential of its own. */
function clientCredential({ rawHeaders }: ClientRequest, channel: UpstreamChannel): readonly string[] {
  if (channel.credential !== undefined) return [];
  const key = clientKey(rawHeaders);
  return key === undefined ? [] : channel.keyHeadersFor(key);
}

/**
 * Returns the client's key. If both headers are present, the key header of the messages dialect wins (dialects reference,
 * section 1).
 */
function clientKey(rawHeaders: readonly string[]): string | undefined {
  let bearer: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = lowerCase(rawHeaders[at] as string);
    const value = rawHeaders[at + 1] as string;
    if (name === "x-api-key" || name === "api-key") return value;
    if (name === "authorization") bearer = /^bearer +(\S+)\s*$/i.exec(value)?.[1];
  }
  return bearer;
}

function dialectHeaders(dialect: Dialect, { addedHeaders }: Provider): readonly string[] {
  const isSet = addedHeaders.some((name, at) => at % 2 === 0 && lowerCase(name) === "anthropic-version");
  return dialect === "messages" && !isSet ? ["anthropic-version", MESSAGES_VERSION] : [];
}
