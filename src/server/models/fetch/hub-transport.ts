/**
 * HTTP GET client that follows redirects itself: the bearer token is sent only to its own origin, and no longer after the first
 * redirect to another origin. Content addresses carry signatures in their query, so messages name only origin and path. Times
 * are in milliseconds. Source: RFC 9110, sections 14 and 15.4.
 */
import { type Dispatcher, request } from "undici";
import { connectionErrorText } from "../../../base/index.ts";
import {
  type ForwardProxies,
  isPrivateAddress,
  NO_FORWARD_PROXIES,
  openProxyAgent,
} from "../../forward-proxy/index.ts";
import { ModelError } from "../model-error.ts";

const MAX_REDIRECTS = 5;
const MAX_HEADER_BYTES = 64 << 10;
/** Maximum bytes read of the body of a redirect or refusal before its connection is closed. */
const MAX_DISCARDED_BYTES = 64 << 10;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface TransportOptions {
  /** Product and version for the `user-agent` header. */
  readonly userAgent: string;
  readonly connectMs: number;
  /** Timeout for the headers. */
  readonly headersMs: number;
  /** Maximum time without data within a body. */
  readonly silenceMs: number;
  /** Forward proxies; if omitted, hubs are connected to directly. */
  readonly proxies?: ForwardProxies | undefined;
}

export const TRANSPORT_LIMITS = { connectMs: 10_000, headersMs: 30_000, silenceMs: 60_000 };

interface HubRequest {
  readonly url: URL;
  /** Bearer token, sent only to the origin of `url`. */
  readonly token?: string | undefined;
  /** Offset of the first wanted byte; if omitted, the whole file. */
  readonly from?: number;
  readonly signal: AbortSignal;
}

export interface HubAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Body of the answer; the caller must read or destroy it. Convert its errors with `toUnreachableError`. */
  readonly body: Dispatcher.ResponseData["body"];
  /** URL of the last redirect. */
  readonly url: URL;
  /** True if a redirect led to another origin. */
  readonly hasLeftOrigin: boolean;
  /** Header `x-repo-commit` from the requested origin. */
  readonly commit: string | undefined;
}

export interface Transport {
  /** Sends a request. Rejects with `ModelError`, or with the signal's reason. */
  send(hubRequest: HubRequest): Promise<HubAnswer>;
  close(): Promise<void>;
}

export function openTransport(options: TransportOptions): Transport {
  const { userAgent, connectMs, headersMs, silenceMs, proxies = NO_FORWARD_PROXIES } = options;
  const limits = {
    connect: { timeout: connectMs },
    headersTimeout: headersMs,
    bodyTimeout: silenceMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    // One request at a time on a connection, so that no answer waits for another.
    pipelining: 1,
  };
  const agent = openProxyAgent(limits, proxies);

  const sendOnce = async (url: URL, { from, signal }: HubRequest, bearer: string | undefined) => {
    try {
      return await request(url, {
        dispatcher: agent,
        signal,
        headers: {
          "user-agent": userAgent,
          accept: "*/*",
          // A compressed body has no known length, no ranges, and another digest.
          "accept-encoding": "identity",
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
          ...(from !== undefined && from > 0 && { range: `bytes=${from}-` }),
        },
      });
    } catch (error) {
      signal.throwIfAborted();
      throw toUnreachableError(url, error);
    }
  };

  return {
    async send(hubRequest) {
      let { url, token: bearer } = hubRequest;
      let commit: string | undefined;
      for (let steps = 0; steps <= MAX_REDIRECTS; steps += 1) {
        const { statusCode: status, headers: raw, body } = await sendOnce(url, hubRequest, bearer);
        // A cancelled body emits an error when nobody may be reading it any more.
        body.on("error", () => undefined);
        const headers = joinHeaderValues(raw);
        const hasLeftOrigin = url.origin !== hubRequest.url.origin;
        if (!hasLeftOrigin) commit ??= headers["x-repo-commit"];
        const { location } = headers;
        if (!REDIRECTS.has(status) || location === undefined)
          return { status, headers, body, url, hasLeftOrigin, commit };
        await discardBody(body);
        const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
        const problem =
          next === undefined ? "redirects to an invalid address" : redirectProblem(hubRequest.url, url, next);
        if (next === undefined || problem !== undefined)
          throw new ModelError("refused", `${originAndPath(url)}: ${problem}`);
        if (next.origin !== url.origin) bearer = undefined;
        url = next;
      }
      throw new ModelError("refused", `${originAndPath(hubRequest.url)}: more than ${MAX_REDIRECTS} redirects`);
    },
    close: () => agent.destroy(),
  };
}

function redirectProblem(original: URL, from: URL, to: URL): string | undefined {
  if (to.protocol !== "https:" && to.protocol !== "http:")
    return "redirects to an address that does not begin with http:// or https://";
  if (from.protocol === "https:" && to.protocol === "http:") return "redirects from https to http";
  if (to.username !== "" || to.password !== "") return "redirects to an address with a user in it";
  if (isPrivate(to.hostname) && !isPrivate(original.hostname))
    return "redirects from a public address to a private one";
  return undefined;
}

/** Returns whether a host is a private address. Names are not resolved. */
function isPrivate(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, "");
  return isPrivateAddress(address) ?? (address === "localhost" || address.endsWith(".localhost"));
}

/** Returns origin and path of a URL, without the parts that may hold a secret. */
export const originAndPath = ({ origin, pathname }: URL): string => (origin + pathname).slice(0, 300);

async function discardBody(body: HubAnswer["body"]): Promise<void> {
  await body.dump({ limit: MAX_DISCARDED_BYTES }).catch(() => undefined);
}

function joinHeaderValues(headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );
}

/** Converts a network error. */
export function toUnreachableError(url: URL, error: unknown): ModelError {
  const reason = connectionErrorText(error) ?? (error instanceof Error ? error.message : String(error));
  return new ModelError("unreachable", `${originAndPath(url)}: ${reason}`, { cause: error });
}
