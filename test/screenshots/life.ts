/**
 * History and traffic of the cluster: secrets, sources with revisions, keys, suspensions and a refusal before the
 * pictures are taken, and steady traffic meanwhile.
 */

import { type AdminClient, createAdminClient } from "../../src/admin-api/index.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import type { Issuer } from "../e2e/admin/support/issuer.ts";
import { until } from "../e2e/cluster/support/until.ts";
import { atEnd, type Owner } from "../e2e/support/wait.ts";
import { type DemoCluster, FOLDER, type NodeAddresses } from "./cluster.ts";
import {
  type Addresses,
  defaultSource,
  PROVIDERS,
  type ProviderName,
  SECRETS,
  secretOf,
  teamSource,
} from "./documents.ts";
import { CALLS, callFronted } from "./fronted.ts";
import { livePastDays, type Reporting } from "./past-days.ts";
import type { Provider } from "./provider.ts";

const APPLIED_LIMIT_MS = 30_000;

interface KeySpec {
  readonly name: string;
  readonly profile?: string;
  readonly team: string;
  readonly expiresIn?: string;
  /** Tokens that the key has spent, by requested model. */
  readonly spent?: readonly [model: string, tokens: number];
  /** Models that it requests in the steady traffic. Repeating one raises its share. */
  readonly models?: readonly string[];
}

const KEYS: readonly KeySpec[] = [
  {
    name: "prod-search",
    profile: "standard",
    team: "search",
    spent: ["messages-large", 2_050_000],
    models: ["acme-small", "messages-large", "messages-large"],
  },
  {
    name: "prod-chat",
    profile: "standard",
    team: "chat",
    spent: ["acme-large", 4_790_000],
    models: ["acme-large", "acme-large", "chat-fast", "open-mix"],
  },
  { name: "prod-batch", profile: "batch", team: "search", expiresIn: "960h", spent: ["open-mix", 64_000] },
  { name: "ci-main", profile: "batch", team: "platform", spent: ["open-mix", 728_000], models: ["open-mix"] },
  { name: "ci-nightly", profile: "batch", team: "platform", spent: ["open-mix", 48_000] },
  {
    name: "nb-lab",
    profile: "research",
    team: "research",
    spent: ["messages-large", 2_104_000],
    models: ["messages-small"],
  },
  {
    name: "nb-oli",
    profile: "research",
    team: "research",
    expiresIn: "26h",
    spent: ["acme-code", 701_000],
    models: ["acme-code"],
  },
  { name: "eval-runs", profile: "research", team: "research", spent: ["messages-large", 2_000_000] },
  { name: "eval-7", profile: "evals", team: "ml", spent: ["judge-1", 299_000], models: ["judge-1"] },
  { name: "partner-west", profile: "standard", team: "partners", expiresIn: "2160h" },
  { name: "status-page", team: "platform", models: ["acme-small"] },
];

interface LifeOptions {
  readonly cluster: DemoCluster;
  readonly providers: Readonly<Record<ProviderName, Provider>>;
  readonly issuer: Issuer;
  /** Address of the MCP servers and agents. */
  readonly fronted: string;
  /** Simulators of the providers whose usage is reconciled. */
  readonly reporting: Readonly<Record<Reporting, Simulator>>;
}

export async function liveOn(
  owner: Owner,
  { cluster, providers, issuer, fronted, reporting }: LifeOptions,
): Promise<void> {
  const { n1 } = cluster;
  const ofProviders = Object.fromEntries(PROVIDERS.map((name) => [name, providers[name].url])) as Addresses;
  const at: Addresses = {
    ...ofProviders,
    fronted,
    "report of acme-messages": reporting["acme-messages"].url,
    "report of beta-labs": reporting["beta-labs"].url,
  };
  const put = (name: string, body: string) => n1.client.call("put_source", { params: { name }, body });
  for (const name of SECRETS) {
    await n1.client.call("put_secret", { params: { name }, body: { value: secretOf(name) } });
  }
  await put("default", defaultSource(at, 1));
  const { gateway, admin } = await n1.addresses();
  const texts = new Map<string, string>();
  const mint = async (client: AdminClient, { name, profile, team, expiresIn }: KeySpec): Promise<void> => {
    const body = { name, metadata: { team }, ...(profile && { profile }), ...(expiresIn && { expires_in: expiresIn }) };
    const { key } = await client.call("create_key", { body });
    texts.set(name, key ?? "");
  };
  const oldest = KEYS.find(({ name }) => name === "status-page");
  if (oldest !== undefined) await mint(n1.client, oldest);
  // Long enough for a difference of a few percent to exceed the floor.
  const report = "report ".repeat(300);
  const ofOldest = (model: string) => ask(gateway, texts.get("status-page") ?? "", model, undefined, report);
  await livePastDays({ cluster, folder: FOLDER, simulators: reporting, ask: ofOldest });
  const alice = personAt(owner, admin, () => issuer.tokenOf("alice@example.com", "oncall"));
  const bob = personAt(owner, admin, () => issuer.tokenOf("bob@example.com", "finance"));
  await alice.call("put_source", { params: { name: "default" }, body: defaultSource(at, 2) });
  await alice.call("put_source", { params: { name: "team-ml" }, body: teamSource(at) });
  await put("default", defaultSource(at, 3));

  for (const spec of KEYS) {
    if (!texts.has(spec.name)) await mint(spec.team === "research" ? alice : n1.client, spec);
  }
  await alice.call("put_secret", { params: { name: "GAMMA_API_KEY" }, body: { value: "nobody's-either" } });
  const elsewhere = await Promise.all([cluster.n2, cluster.n3].map((node) => node.addresses()));
  for (const node of elsewhere) await until("it serves", () => serves(node), APPLIED_LIMIT_MS);

  for (const { name, spent } of KEYS) {
    if (spent === undefined) continue;
    const [model, tokens] = spent;
    await ask(gateway, texts.get(name) ?? "", model, tokens);
  }
  await bob.call("put_suspension", suspension("provider", "pool-eu", "costs too much", "1h")).catch(() => undefined);
  await alice.call("put_suspension", suspension("provider", "beta-labs", "key rotation", "12m"));
  await n1.client.call("put_suspension", suspension("key", "partner-west", "unpaid since August"));
  providers["acme-chat"].failing = FAILING;
  keepAsking(owner, gateway, texts);
  keepAsking(owner, elsewhere[0]?.gateway ?? gateway, texts);
  await until("acme-chat is known to fail", () => isFailing(n1.client, "acme-chat"), APPLIED_LIMIT_MS);
}

async function isFailing(client: AdminClient, provider: string): Promise<boolean> {
  const { items } = await client.call("list_backends");
  return items.some(({ name, state, rate }) => name === provider && state === "failing" && rate > WARM_RATE);
}

const suspension = (kind: "provider" | "key", name: string, reason: string, duration?: string) => ({
  params: { kind, name },
  body: { reason, ...(duration !== undefined && { duration }) },
});

function personAt(owner: Owner, url: string, token: () => Promise<string>): AdminClient {
  const client = createAdminClient({ address: { kind: "url", url, token } });
  atEnd(owner, () => client.close());
  return client;
}

const serves = ({ gateway }: NodeAddresses): Promise<boolean> =>
  fetch(`${gateway}/healthz`).then(
    () => true,
    () => false,
  );

const USUAL = "What is on today?";

async function ask(gateway: string, key: string, model: string, tokens?: number, text = USUAL): Promise<void> {
  const isMessages = /^(messages|gamma)-/.test(model);
  const content = `${text}${tokens === undefined ? "" : ` [billed ${tokens}]`}`;
  const response = await fetch(`${gateway}${isMessages ? "/v1/messages" : "/v1/chat/completions"}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${key}`,
      ...(isMessages && { "anthropic-version": "2023-06-01" }),
    },
    body: JSON.stringify({ model, max_tokens: 200, messages: [{ role: "user", content }] }),
  });
  const answer = await response.text();
  if ((tokens !== undefined || text !== USUAL) && !response.ok)
    throw new Error(`${model} answered ${response.status}: ${answer}`);
}

/** Model requests between two calls of servers and agents. */
const CALL_EACH = 3;
/** Share of acme-chat's requests that get 503. */
const FAILING = 0.78;
/** Delay between two requests of a node. */
const BETWEEN_MS = 70;
/** Attempts a second of a provider, averaged over a minute, from which on the pictures look typical. */
const WARM_RATE = 2;

/** Sends one request after another, with each key in turn, until the owner closes. */
function keepAsking(owner: Owner, gateway: string, texts: ReadonlyMap<string, string>): void {
  const requests = KEYS.flatMap(({ name, models = [] }) =>
    models.map((model) => ({ key: texts.get(name) ?? "", model })),
  );
  let at = 0;
  const timer = setInterval(() => {
    const turn = requests[at % requests.length];
    at += 1;
    if (turn !== undefined) ask(gateway, turn.key, turn.model).catch(() => undefined);
    const call = at % CALL_EACH === 0 ? CALLS[(at / CALL_EACH) % CALLS.length] : undefined;
    if (turn !== undefined && call !== undefined) callFronted(gateway, turn.key, call).catch(() => undefined);
  }, BETWEEN_MS);
  atEnd(owner, () => clearInterval(timer));
}
