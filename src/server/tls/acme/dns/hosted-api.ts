/**
 * Writes DNS-01 records through the API of a hosted provider: version 4 of Cloudflare's. Source: front-door reference, section 5.4.
 */

import { request } from "undici";
import { anySignal } from "../../../../base/index.ts";
import { type ForwardProxies, NO_FORWARD_PROXIES, openProxyAgent } from "../../../forward-proxy/index.ts";
import { AttemptFailed, unreachable } from "../attempt-failed.ts";
import { remoteText } from "../bounded-text.ts";
import type { TxtRecord } from "../certificate-record.ts";
import type { DnsProvider } from "../ports.ts";
import { retryAtOf } from "../retry-after.ts";
import { followCnames, nameServersOf, recursiveServers } from "./challenge-names.ts";
import { awaitRecords } from "./propagation.ts";

interface HostedApiOptions {
  /** URL without a trailing slash. */
  readonly base: string;
  readonly apiToken: string;
  /** Token that reads zones, if `apiToken` may only write one zone; `undefined` if `apiToken` does both. */
  readonly zoneToken: string | undefined;
  readonly nameServers: readonly string[];
  /** Forward proxies; if omitted, connections are direct. */
  readonly proxies?: ForwardProxies;
  readonly now: () => number;
}

export const HOSTED_API = "https://api.cloudflare.com/client/v4";

const TTL_SECONDS = 60;
const REQUEST_TIMEOUT_MS = 15_000;
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_PAGES = 50;

/** Error codes for a record that already exists, or another with the same content. */
const EXISTS: ReadonlySet<number> = new Set([81_057, 81_058]);
/** Error code of a record that no longer exists. */
const GONE: ReadonlySet<number> = new Set([81_044]);

interface ApiAnswer {
  readonly status: number;
  readonly isSuccess: boolean;
  readonly codes: readonly number[];
  readonly message: string;
  readonly result: unknown;
  readonly pages: number;
  readonly retryAt: number | undefined;
}

export function hostedApiProvider(options: HostedApiOptions): DnsProvider {
  const { base, apiToken, zoneToken, nameServers, now } = options;
  const dispatcher = openProxyAgent(
    { connect: { timeout: REQUEST_TIMEOUT_MS } },
    options.proxies ?? NO_FORWARD_PROXIES,
  );
  const what = "the API of the DNS provider";

  async function call(
    method: "GET" | "POST" | "DELETE",
    path: string,
    token: string,
    body: object | undefined,
    signal: AbortSignal,
  ) {
    const limited = anySignal([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
    let answer: ApiAnswer;
    try {
      const {
        statusCode,
        headers,
        body: stream,
      } = await request(`${base}${path}`, {
        method,
        dispatcher,
        headers: {
          authorization: `Bearer ${token.trim()}`,
          "content-type": "application/json",
          "user-agent": "gateway",
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal: limited,
      });
      const chunks: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of stream as AsyncIterable<Uint8Array>) {
        length += chunk.length;
        if (length > MAX_BODY_BYTES) throw new Error("its answer is too long");
        chunks.push(chunk);
      }
      answer = parseAnswer(
        statusCode,
        Buffer.concat(chunks).toString("utf8"),
        retryAtOf(headers["retry-after"], now()),
      );
    } catch (error) {
      signal.throwIfAborted();
      throw unreachable("dns_update", what, error);
    }
    return answer;
  }

  function refused({ status, message: reason, retryAt }: ApiAnswer, doing: string): AttemptFailed {
    const message = `${what} did not ${doing}: ${reason}`;
    if (status === 429) return new AttemptFailed("rate_limited", message, { keepsOrder: true, retryAt });
    const isOfToken = status === 401 || status === 403 || /authorization|authentication/i.test(reason);
    const hint = isOfToken ? "; check tls.dns.api_token and zone_token" : "";
    return new AttemptFailed(isOfToken ? "dns_auth" : "dns_update", `${message}${hint}`, { keepsOrder: true, retryAt });
  }

  /** Finds the longest zone that contains the name. */
  async function zoneOf(name: string, signal: AbortSignal): Promise<{ readonly id: string; readonly name: string }> {
    const labels = name.split(".");
    for (let at = 0; at < labels.length - 1; at += 1) {
      const zone = labels.slice(at).join(".");
      const path = `/zones?name=${encodeURIComponent(zone)}&per_page=50`;
      const answer = await call("GET", path, zoneToken ?? apiToken, undefined, signal);
      if (!answer.isSuccess) throw refused(answer, `find the zone of ${name}`);
      const found = objectsIn(answer.result).find((it) => it["name"] === zone);
      if (found === undefined) continue;
      if (found["status"] !== "active") {
        const message = `the zone ${zone} is ${remoteText(found["status"]) || "not active"} at the DNS provider, so it is not used yet`;
        throw new AttemptFailed("dns_update", message, { keepsOrder: true });
      }
      return { id: idOf(found), name: zone };
    }
    const message = `${what} has no zone for ${name}, or the token has no permission to read it; check tls.dns.zone_token`;
    throw new AttemptFailed("dns_auth", message, { keepsOrder: true });
  }

  /** Returns the ids of the records with exactly this value. */
  async function recordsOf(zone: string, { name, value }: TxtRecord, signal: AbortSignal): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let page = 1, pages = 1; page <= Math.min(pages, MAX_PAGES); page += 1) {
      const path = `/zones/${zone}/dns_records?type=TXT&name=${encodeURIComponent(name)}&per_page=100&page=${page}`;
      const answer = await call("GET", path, apiToken, undefined, signal);
      if (!answer.isSuccess) throw refused(answer, `list the records of ${name}`);
      pages = answer.pages;
      const ours = objectsIn(answer.result).filter((it) => String(it["content"]).replace(/^"(.*)"$/, "$1") === value);
      ids.push(...ours.map(idOf));
    }
    return ids;
  }

  const targetOf = async (name: string, signal: AbortSignal): Promise<string> =>
    await followCnames(name, await recursiveServers(nameServers), undefined, signal);

  return {
    async publish(records, signal) {
      const written = [];
      for (const { name, value } of records) {
        const target = await targetOf(name, signal);
        const zone = await zoneOf(target, signal);
        const record = {
          type: "TXT",
          name: target,
          content: `"${value}"`,
          ttl: TTL_SECONDS,
          comment: "ACME challenge",
        };
        const answer = await call("POST", `/zones/${zone.id}/dns_records`, apiToken, record, signal);
        if (!answer.isSuccess && !answer.codes.some((code) => EXISTS.has(code)))
          throw refused(answer, `write ${target}`);
        written.push({ name: target, value, zone: zone.name });
      }
      const awaited = [];
      for (const { name, value, zone } of written) {
        const servers = await nameServersOf(zone, await recursiveServers(nameServers), signal).catch(() => []);
        signal.throwIfAborted();
        awaited.push({ name, value, servers });
      }
      await awaitRecords(awaited, signal);
    },
    async remove({ name, value }, signal) {
      const target = await targetOf(name, signal);
      const { id: zone } = await zoneOf(target, signal);
      for (const id of await recordsOf(zone, { name: target, value }, signal)) {
        const answer = await call("DELETE", `/zones/${zone}/dns_records/${id}`, apiToken, undefined, signal);
        const isGone = answer.status === 404 || answer.codes.some((code) => GONE.has(code));
        if (!answer.isSuccess && !isGone) throw refused(answer, `remove ${target}`);
      }
    },
    async check(names, signal) {
      const zones = new Set<string>();
      for (const name of names) {
        const target = await targetOf(name, signal);
        const zone = await zoneOf(target, signal);
        await recordsOf(zone.id, { name: target, value: "" }, signal);
        zones.add(zone.name);
      }
      return `${what} shows the records of ${[...zones].join(", ")}; whether they can be written is known after the first order`;
    },
  };
}

function parseAnswer(status: number, text: string, retryAt: number | undefined): ApiAnswer {
  let body: Readonly<Record<string, unknown>> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) body = parsed as Readonly<Record<string, unknown>>;
  } catch {
    // The body is a page of a proxy in front of the API; its status is enough.
  }
  const errors = objectsIn(body["errors"]);
  const info = objectsIn([body["result_info"]])[0];
  const pages = Number(info?.["total_pages"] ?? 1);
  const errorText = errors.map((it) => `${Number(it["code"])} ${remoteText(it["message"])}`).join(", ");
  return {
    status,
    isSuccess: status >= 200 && status < 300 && body["success"] === true,
    codes: errors.map((it) => Number(it["code"])),
    message: errorText === "" ? `status ${status}` : errorText,
    result: body["result"],
    pages: Number.isSafeInteger(pages) ? pages : 1,
    retryAt,
  };
}

const objectsIn = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value)
    ? value.filter((it): it is Record<string, unknown> => typeof it === "object" && it !== null)
    : [];

function idOf(item: Readonly<Record<string, unknown>>): string {
  const { id } = item;
  if (typeof id === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(id)) return id;
  throw new AttemptFailed("dns_update", "the API of the DNS provider answers without ids", { keepsOrder: true });
}
