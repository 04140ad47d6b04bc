/**
 * Checks of `gateway check` for upstreams: requests an MCP server's revisions and an agent's card, with the credential
 * of later calls. Source: specification document 1, "gateway check"; mcp reference, 8 and 15.
 */
import { Pool } from "undici";
import { asRefusal } from "../../base/index.ts";
import { buildPublishedCard, MCP_VERSION, readOwnCard } from "../../server/core/agents/index.ts";
import type { PresentedCredential, Presenter } from "../../server/credentials/index.ts";
import { fetchOwnCard } from "../../server/dataplane/index.ts";
import { type ForwardProxies, proxyConnector } from "../../server/forward-proxy/index.ts";
import type { LoadedNode } from "../../server/node/index.ts";
import { PLACEHOLDER_SECRET } from "../../server/secrets/index.ts";
import { type FrontedServer, fetchDocument } from "../../server/upstream/index.ts";
import { isSealed } from "./credential-checks.ts";
import type { Answer, Probe, ProbeLimits } from "./probe.ts";

export function frontedProbes(
  { compiled: { snapshot } }: LoadedNode,
  presenter: Presenter,
  proxies: ForwardProxies,
): readonly Probe[] {
  return snapshot.fronted.all.map((upstreams) => {
    const subject = `${upstreams.kind === "mcp" ? "MCP server" : "agent"} ${upstreams.name}`;
    return { subject, run: (limits) => probeUpstream(subject, upstreams, { presenter, proxies }, limits) };
  });
}

async function probeUpstream(
  subject: string,
  upstreams: FrontedServer,
  { presenter, proxies }: { readonly presenter: Presenter; readonly proxies: ForwardProxies },
  limits: ProbeLimits,
): Promise<Answer> {
  const { channel, path, cardUrl = "" } = upstreams;
  if (isSealed(channel.credential) || `${channel.origin}${path}${cardUrl}`.includes(PLACEHOLDER_SECRET)) {
    return { verdict: "note", subject, message: "not tested, since its credential is sealed in the cluster" };
  }
  const pools = new Map<string, Pool>();
  const poolFor = (origin: string): Pool => {
    const connect = { timeout: limits.timeoutMs };
    const connector = proxyConnector({ proxies, connect, bypassesProxyForPrivate: true, tunnelsPlain: true });
    const known = pools.get(origin) ?? new Pool(origin, { connect: connector });
    pools.set(origin, known);
    return known;
  };
  try {
    return upstreams.kind === "mcp"
      ? await probeMcpServer(subject, upstreams, { poolFor, presenter }, limits)
      : await probeAgent(subject, upstreams, { poolFor, presenter }, limits);
  } finally {
    for (const one of pools.values()) await one.destroy();
  }
}

const DISCOVER = JSON.stringify({
  jsonrpc: "2.0",
  id: "check",
  method: "server/discover",
  params: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": MCP_VERSION,
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "gateway", version: "check" },
    },
  },
});

interface ProbeConnections {
  readonly poolFor: (origin: string) => Pool;
  readonly presenter: Presenter;
}

async function probeMcpServer(
  subject: string,
  { channel, path, shownUrl }: FrontedServer,
  { poolFor, presenter }: ProbeConnections,
  { timeoutMs, signal }: ProbeLimits,
): Promise<Answer> {
  const { credential, host } = channel;
  // The credential is made from a caller's token, so a check has none.
  const isCallers = credential?.kind === "token_exchange";
  const body = Buffer.from(DISCOVER);
  const headers = [
    "content-type",
    "application/json",
    "accept",
    "application/json, text/event-stream",
    "mcp-protocol-version",
    MCP_VERSION,
    "mcp-method",
    "server/discover",
  ];
  let presented: PresentedCredential | undefined;
  try {
    if (credential !== undefined && !isCallers) {
      presented = await presenter.present(credential, { method: "POST", path, host, headers, body });
    }
  } catch (error) {
    return { verdict: "fail", subject, message: `${shownUrl}: no request was sent: ${asRefusal(error).message}` };
  }
  const startedAt = performance.now();
  const answer = await fetchDocument(poolFor(channel.origin), {
    method: "POST",
    path,
    headers: presented?.headers ?? headers,
    body: DISCOVER,
    limitMs: timeoutMs,
    signal,
  });
  const fail = (message: string): Answer => ({ verdict: "fail", subject, message: `${shownUrl}: ${message}` });
  if (answer.kind === "failed") return fail(answer.problem);
  const { status } = answer;
  if ((status === 401 || status === 403) && isCallers) {
    const message = `${shownUrl} answered ${status}: it requires a caller's credential, which this check does not have`;
    return { verdict: "note", subject, message };
  }
  if (status === 401 || status === 403) {
    const subjectText = credential === undefined ? "calls without a credential" : "the credential";
    return fail(`answered ${status}: the server refuses ${subjectText}`);
  }
  const versions = versionsIn(answer.text);
  if (versions === undefined) {
    const reason = "its answer to `server/discover` has no `supportedVersions`";
    return fail(`answered ${status} and does not support MCP ${MCP_VERSION}: ${reason}`);
  }
  if (!versions.includes(MCP_VERSION)) {
    return fail(`supports MCP ${versions.join(", ")} but not ${MCP_VERSION}: upgrade the server`);
  }
  const ms = Math.round(performance.now() - startedAt);
  return { verdict: "ok", subject, message: `${shownUrl} supports MCP ${MCP_VERSION}, answered in ${ms} ms` };
}

/**
 * Reads the versions from a result, whole or as the last event of a stream. Returns `undefined` if it is not an answer of an
 * MCP server.
 */
function versionsIn(text: string): readonly string[] | undefined {
  const last = text.split(/\r\n|\r|\n/).findLast((line) => line.startsWith("data:"));
  try {
    const { result } = JSON.parse(last === undefined ? text : last.slice("data:".length)) as {
      readonly result?: { readonly supportedVersions?: unknown };
    };
    const versions = result?.supportedVersions;
    if (!Array.isArray(versions)) return undefined;
    return versions.filter((one) => typeof one === "string" && /^[\w.-]{1,32}$/.test(one)) as readonly string[];
  } catch {
    return undefined;
  }
}

async function probeAgent(
  subject: string,
  agent: FrontedServer,
  { poolFor, presenter }: ProbeConnections,
  { timeoutMs, signal }: ProbeLimits,
): Promise<Answer> {
  const { cardUrl = "", channel } = agent;
  const fail = (message: string): Answer => ({
    verdict: "fail",
    subject,
    message: `its agent card cannot be used: ${message}`,
  });
  const fetched = await fetchOwnCard({ origins: { pool: poolFor }, presenter }, agent, timeoutMs, signal);
  if (fetched.kind === "refused") return fail(fetched.problem);
  const read = readOwnCard(fetched.text, [channel.origin, cardUrl], "https://gateway.invalid");
  if (read.kind === "refused") return fail(read.problem);
  const terms = {
    url: "https://gateway.invalid",
    needsBearer: false,
    openIdConnectUrl: undefined,
    hasExtendedCard: false,
  };
  const card = buildPublishedCard(read.card, terms);
  return card.kind === "refused"
    ? fail(card.problem)
    : { verdict: "ok", subject, message: "its agent card offers A2A 1.0 over JSON-RPC" };
}
