/** What `gateway check` asks a provider: for its list of models, with the credential that requests will carry. */
import { request as undiciRequest } from "undici";
import type { LoadedNode } from "../../server/node/index.ts";
import { STAND_IN } from "../../server/secrets/index.ts";
import { failureWords } from "../../server/upstream/index.ts";
import type { Answer, Limits, Probe } from "./answer.ts";

type Provider = LoadedNode["compiled"]["snapshot"]["providers"][number];
type Channel = Provider["channels"][number];

/** One a channel. */
export function providerProbes(provider: Provider): readonly Probe[] {
  return provider.channels.map((channel) => {
    const subject = `provider ${provider.name}${provider.channels.length > 1 ? ` (${channel.id})` : ""}`;
    return { subject, ask: (limits) => askProvider(subject, provider, channel, limits) };
  });
}

/** The models list: cheap, side-effect free, and present on nearly every server of either dialect. */
async function askProvider(
  subject: string,
  provider: Provider,
  channel: Channel,
  { timeoutMs, signal }: Limits,
): Promise<Answer> {
  const url = channel.origin + channel.pathOf("/v1/models");
  const headers = [...channel.credential, ...provider.addedHeaders];
  if (`${url}\n${headers.join("\n")}`.includes(STAND_IN)) {
    return { verdict: "note", subject, words: "not asked: what it is asked with is sealed in the cluster" };
  }
  if (channel.dialect === "messages") headers.push("anthropic-version", "2023-06-01");
  const startedAt = performance.now();
  try {
    const answer = await undiciRequest(url, {
      headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await answer.body.dump({ limit: 1 << 20 });
    const words = `${url} answered ${answer.statusCode} in ${Math.round(performance.now() - startedAt)} ms`;
    return judge(subject, words, answer.statusCode, channel.credential.length > 0);
  } catch (error) {
    return { verdict: "fail", subject, words: `${url}: ${failureWords(error, timeoutMs)}` };
  }
}

function judge(subject: string, words: string, status: number, hasCredential: boolean): Answer {
  if (status === 401 || status === 403) {
    return hasCredential
      ? { verdict: "fail", subject, words: `${words}: it refuses the credential` }
      : { verdict: "ok", subject, words: `${words}: it wants a credential, which clients bring themselves` };
  }
  if (status >= 500) return { verdict: "fail", subject, words };
  if (status === 404 || status === 405) return { verdict: "ok", subject, words: `${words}: it lists no models` };
  return { verdict: status >= 400 && status !== 429 ? "fail" : "ok", subject, words };
}
