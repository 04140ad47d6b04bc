/** Checks of `gateway check` for a provider: requests its list of models with the credential of later requests. */
import { Agent, type Dispatcher, request as undiciRequest } from "undici";
import { anySignal, asRefusal } from "../../base/index.ts";
import type { Presenter } from "../../server/credentials/index.ts";
import { type ForwardProxies, openProxyAgent } from "../../server/forward-proxy/index.ts";
import type { LoadedNode } from "../../server/node/index.ts";
import { PLACEHOLDER_SECRET } from "../../server/secrets/index.ts";
import { failureText } from "../../server/upstream/index.ts";
import { clockFault } from "./clock-check.ts";
import { isSealed } from "./credential-checks.ts";
import { memberLookup } from "./pool-checks.ts";
import type { Answer, Probe, ProbeLimits } from "./probe.ts";

type Provider = LoadedNode["compiled"]["snapshot"]["providers"][number];
type Channel = Provider["channels"][number];

/** Returns one probe per channel. */
export function providerProbes(
  provider: Provider,
  presenter: Presenter,
  { nameServers, proxies }: { readonly nameServers: readonly string[]; readonly proxies: ForwardProxies },
): readonly Probe[] {
  const dispatcher = provider.pool
    ? new Agent({ connect: { lookup: memberLookup(nameServers) } })
    : openProxyAgent({ connect: {} }, proxies);
  return provider.channels.map((channel) => {
    const subject = `provider ${provider.name}${provider.channels.length > 1 ? ` (${channel.id})` : ""}`;
    return { subject, run: (limits) => probeProvider(subject, { provider, channel, presenter, dispatcher }, limits) };
  });
}

/**
 * Requests the list of models, which is cheap, free of side effects, and available on nearly every server of either
 * dialect.
 */
async function probeProvider(
  subject: string,
  {
    provider,
    channel,
    presenter,
    dispatcher,
  }: {
    readonly provider: Provider;
    readonly channel: Channel;
    readonly presenter: Presenter;
    readonly dispatcher: Dispatcher;
  },
  { timeoutMs, signal }: ProbeLimits,
): Promise<Answer> {
  const { credential, host } = channel;
  const path = channel.pathOf("/v1/models");
  const url = channel.origin + path;
  const headers = [...provider.addedHeaders];
  if (isSealed(credential) || `${url}\n${headers.join("\n")}`.includes(PLACEHOLDER_SECRET)) {
    return { verdict: "note", subject, message: "not tested, since its credential is sealed in the cluster" };
  }
  if (channel.dialect === "messages") headers.push("anthropic-version", "2023-06-01");
  const request = { method: "GET", path, host, headers, body: null };
  const presented = await Promise.resolve(credential && presenter.present(credential, request)).catch(asRefusal);
  if (presented instanceof Error)
    return { verdict: "fail", subject, message: `no request was sent: ${presented.message}` };
  const startedAt = performance.now();
  const sentAt = Date.now();
  try {
    const answer = await undiciRequest(url, {
      headers: [...(presented?.headers ?? headers)],
      dispatcher,
      signal: anySignal([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await answer.body.dump({ limit: 1 << 20 });
    const message = `${url} answered ${answer.statusCode} in ${Math.round(performance.now() - startedAt)} ms`;
    const result = answerForStatus(subject, message, answer.statusCode, credential !== undefined);
    const fault = clockFault(answer.headers, sentAt, Date.now());
    if (fault === undefined) return result;
    return {
      ...result,
      verdict: result.verdict === "ok" ? "note" : result.verdict,
      message: `${result.message}; ${fault}`,
    };
  } catch (error) {
    return { verdict: "fail", subject, message: `${url}: ${failureText(error, timeoutMs)}` };
  }
}

function answerForStatus(subject: string, message: string, status: number, hasCredential: boolean): Answer {
  if (status === 401 || status === 403) {
    return hasCredential
      ? { verdict: "fail", subject, message: `${message}: the provider refuses the credential` }
      : { verdict: "ok", subject, message: `${message}: the provider requires a credential, which clients must send` };
  }
  if (status >= 500) return { verdict: "fail", subject, message };
  if (status === 404 || status === 405) {
    const reason = "the provider has no list of models, or the path of its `base_url` is wrong";
    return { verdict: "note", subject, message: `${message}: ${reason}` };
  }
  return { verdict: status >= 400 && status !== 429 ? "fail" : "ok", subject, message };
}
